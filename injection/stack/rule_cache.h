// Caches unwind rules (wire/stack.h) by address.
#pragma once

#include <cstdint>

#include "base/atomics.h"
#include "stack/native_walk.h"
#include "wire/hash.h"
#include "wire/wire.h"

namespace gpuprof::injection {

// A rule value in addition to those of wire/stack.h. It marks an address without a rule that follows a call
// instruction.
constexpr uint64_t kNoRuleAfterCall = GPUPROF_UNWIND_RULE(GPUPROF_UNWIND_NONE, 1, 0, 0);

// An entry of a lock-free cache. The lower 48 bits of `key ^ rule` are the address; the upper bits are the index of the
// known module. If two threads wrote an entry at once, it matches no address.
constexpr uint32_t kAddressBits = 48;
struct CachedRule {
  uint64_t key;
  uint64_t rule;

  [[nodiscard]] bool is_of(uint64_t at) const { return ((key ^ rule) & ((uint64_t{1} << kAddressBits) - 1)) == at; }
  [[nodiscard]] uint32_t module() const {
    return static_cast<uint32_t>((key ^ rule) >> kAddressBits) % WalkMemory::kMaxModules;
  }
};

// A set has two entries. With one, two frames of a stack with the same hash would always evict each other.
struct alignas(32) RuleSet {
  CachedRule entries[2];
};
constexpr uint32_t kRuleSetsLog2 = 13;
inline constinit RuleSet rule_sets[1U << kRuleSetsLog2] = {};

inline RuleSet& rule_set(uint64_t at) {
  return rule_sets[at * GPUPROF_HASH_MULTIPLIER >> (64 - kRuleSetsLog2)];
}

inline CachedRule load_entry(const CachedRule& entry) {
  // Acquire, so that `known` already holds the entry's module.
  return {load_acquire(&entry.key), load_acquire(&entry.rule)};
}

// Returns the entry for `at`. If the cache lacks it, returns an entry for which is_of(at) is false.
inline CachedRule load_rule(uint64_t at) {
  const RuleSet& set = rule_set(at);
  const CachedRule first = load_entry(set.entries[0]);
  return first.is_of(at) ? first : load_entry(set.entries[1]);
}

// Returns whether `pc`, which may be unmapped, follows a call instruction or is signal return code.
bool may_return_to(uint64_t pc);

// Returns whether `module` still has the file in which its rules were found. Notes success in `memory`.
bool still_there(WalkMemory& memory, uint32_t module, uint64_t at);

// Searches the module for a rule and caches it. `may_follow_call`: `at` is the byte before a return address.
uint64_t find_rule(WalkMemory& memory, uint64_t at, bool may_follow_call);

// Returns the rule for `at`, an address inside an instruction. Returns GPUPROF_UNWIND_NONE if the rule is unknown.
inline uint64_t rule_at(WalkMemory& memory, uint64_t at, bool return_address) {
  const CachedRule cached = load_rule(at);
  if (cached.is_of(at) &&
      (memory.seen_in[cached.module()] == memory.walks || still_there(memory, cached.module(), at))) {
    return cached.rule;
  }
  return find_rule(memory, at, return_address);
}

// 1: a file has replaced another file at some addresses, so an address alone does not identify code.
inline constinit uint32_t modules_replaced = 0;

// The module of an address on the stack that was last walked with `memory`. module_of_address() returns it.
struct ModuleOfAddress {
  uint32_t index;     // 0: the module is unknown
  uint64_t contents;  // hash of the module's contents; 0: no other file was mapped at the module's addresses
};
ModuleOfAddress module_of_address(WalkMemory& memory, uint64_t at);

bool describe_known_module(uint32_t index, gpuprof_module* record, char* path);

void reset_rule_cache();

}  // namespace gpuprof::injection
