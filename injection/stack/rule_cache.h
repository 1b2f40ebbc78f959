// The rule of wire/stack.h for an address of this process, remembered once it has been found.
#pragma once

#include <cstdint>

#include "base/atomics.h"
#include "stack/native_walk.h"
#include "wire/hash.h"
#include "wire/wire.h"

namespace gpuprof::injection {

// Beside the rules of wire/stack.h: GPUPROF_UNWIND_NONE, and what stands before the address is a call.
constexpr uint64_t kNoRuleAfterCall = GPUPROF_UNWIND_RULE(GPUPROF_UNWIND_NONE, 1, 0, 0);

// One entry of a table without locks: a torn one fits no address. The bits of `key ^ rule` above an address say which
// of the known modules it is in, 0 for none.
constexpr uint32_t kAddressBits = 48;
struct CachedRule {
  uint64_t key;
  uint64_t rule;

  [[nodiscard]] bool is_of(uint64_t at) const { return ((key ^ rule) & ((uint64_t{1} << kAddressBits) - 1)) == at; }
  [[nodiscard]] uint32_t module() const {
    return static_cast<uint32_t>((key ^ rule) >> kAddressBits) % WalkMemory::kMaxModules;
  }
};

// Two entries for an address: with one, two frames of a stack that need the same one would never stay.
struct alignas(32) RuleSet {
  CachedRule entries[2];
};
constexpr uint32_t kRuleSetsLog2 = 13;
inline constinit RuleSet rule_sets[1U << kRuleSetsLog2] = {};

inline RuleSet& rule_set(uint64_t at) {
  return rule_sets[at * GPUPROF_HASH_MULTIPLIER >> (64 - kRuleSetsLog2)];
}

inline CachedRule load_entry(const CachedRule& entry) {
  return {load_acquire(&entry.key), load_acquire(&entry.rule)};  // whose module must be known by then
}

// What is in the table for `at`, or something that is_of() another address.
inline CachedRule load_rule(uint64_t at) {
  const RuleSet& set = rule_set(at);
  const CachedRule first = load_entry(set.entries[0]);
  return first.is_of(at) ? first : load_entry(set.entries[1]);
}

// Whether the code at `pc`, which may not be there, looks like what a function returns to.
bool may_return_to(uint64_t pc);

// Whether what `module` was when its rules were found is still there; notes it in `memory`.
bool still_there(WalkMemory& memory, uint32_t module, uint64_t at);

// Looks in the module, and notes the result. `may_follow_call`: `at` is the byte before a return address.
uint64_t find_rule(WalkMemory& memory, uint64_t at, bool may_follow_call);

// `at`: an address inside of the instruction. GPUPROF_UNWIND_NONE where nothing is known.
inline uint64_t rule_at(WalkMemory& memory, uint64_t at, bool return_address) {
  const CachedRule cached = load_rule(at);
  if (cached.is_of(at) &&
      (memory.seen_in[cached.module()] == memory.walks || still_there(memory, cached.module(), at))) {
    return cached.rule;
  }
  return find_rule(memory, at, return_address);
}

// Whether some file has come to addresses where another one was, or partly so: addresses alone do not say any more what
// they are addresses of.
inline constinit uint32_t modules_replaced = 0;

// The module of an address on the stack that was walked last with `memory`.
struct ModuleOfAddress {
  uint32_t index;     // 0: not known
  uint64_t contents;  // not 0: of one that has taken another one's place, or whose place was taken later
};
ModuleOfAddress module_of_address(WalkMemory& memory, uint64_t at);

// See describe_module().
bool describe_known_module(uint32_t index, gpuprof_module* record, char* path);

void reset_rule_cache();

}  // namespace gpuprof::injection
