#include "stack/rule_cache.h"

#include "base/safe_read.h"
#include "stack/modules.h"
#include "unwind/cfi.h"
#include "wire/stack_arch.h"

namespace gpuprof::injection {

namespace {

// A module in which rules were found. Entries never change. A module that is loaded again gets a new entry.
struct Known {
  Module module;
  ModuleParts parts;
  uint64_t fingerprint;
};
Known known[WalkMemory::kMaxModules];  // index 0 is unused
uint32_t known_count = 0;              // number of modules, which have the indices 1 to known_count
uint32_t known_lock = 0;
// 1: another file was loaded at the module's addresses before or after the module
uint8_t replaced[WalkMemory::kMaxModules];

// Hash table of module indices by start address. If several modules were loaded at the same address, each has its own
// entry.
constexpr uint32_t kBuckets = 4 * WalkMemory::kMaxModules;
uint16_t by_begin[kBuckets];

bool same(const Module& a, const Module& b) {
  return a.begin == b.begin && a.end == b.end && a.header == b.header && a.identity == b.identity;
}

uint32_t first_bucket(const Module& module) {
  return static_cast<uint32_t>((module.begin >> 12U) * GPUPROF_HASH_MULTIPLIER >> 32U) % kBuckets;
}

// Returns the module's index, or 0 if it is unknown. The search always ends, because there are four times as many
// buckets as modules.
uint32_t search(const Module& module, uint64_t fingerprint, uint32_t* free_bucket) {
  uint32_t bucket = first_bucket(module);
  for (uint32_t i = 0; i < kBuckets; ++i, bucket = (bucket + 1) % kBuckets) {
    const uint16_t index = load_acquire(&by_begin[bucket]);
    if (index == 0) {
      *free_bucket = bucket;
      return 0;
    }
    if (same(known[index].module, module) && known[index].fingerprint == fingerprint) {
      return index;
    }
  }
  return 0;
}

// Marks the new module, and each module that overlaps it, unless both are the same file at the same addresses.
void note_replaced(uint32_t index) {
  const Known& fresh = known[index];
  for (uint32_t i = 1; i < index; ++i) {
    const Known& other = known[i];
    const bool overlaps = fresh.module.begin < other.module.end && other.module.begin < fresh.module.end;
    const bool equal = fresh.module.begin == other.module.begin && fresh.module.end == other.module.end &&
                       content_of(fresh.module, fresh.fingerprint) == content_of(other.module, other.fingerprint);
    if (overlaps && !equal) {
      store_relaxed(&replaced[i], uint8_t{1});
      store_relaxed(&replaced[index], uint8_t{1});
      store_relaxed(&modules_replaced, 1U);
    }
  }
}

// Returns the module's index. Returns 0 if the table is full or another thread is changing it; the caller then caches
// no rule.
uint32_t learn(const Module& module, const ModuleParts& parts, uint64_t fingerprint) {
  uint32_t bucket = 0;
  if (const uint32_t index = search(module, fingerprint, &bucket); index != 0) {
    return index;
  }
  if (!swap_if(&known_lock, 0, 1)) {
    return 0;
  }
  uint32_t index = search(module, fingerprint, &bucket);
  if (index == 0 && known_count + 1 < WalkMemory::kMaxModules) {
    index = ++known_count;
    known[index] = {module, parts, fingerprint};
    note_replaced(index);
    store_release(&by_begin[bucket], static_cast<uint16_t>(index));
  }
  unlock(&known_lock);
  return index;
}

// Caches a rule as the first entry of its set; the previous first entry becomes the second.
void remember(uint64_t at, uint32_t module, uint64_t rule) {
  RuleSet& set = rule_set(at);
  const CachedRule older = load_entry(set.entries[0]);
  if (!older.is_of(at)) {
    store_release(&set.entries[1].key, older.key);
    store_release(&set.entries[1].rule, older.rule);
  }
  store_release(&set.entries[0].key, (at | uint64_t{module} << kAddressBits) ^ rule);
  store_release(&set.entries[0].rule, rule);
}

bool follows_call(uint64_t pc) {
  uint8_t code[GPUPROF_CODE_BEFORE];
  return safe_read(reinterpret_cast<const void*>(pc - sizeof(code)), code, sizeof(code)) &&
         gpuprof_ends_with_call(code) != 0;
}

// Returns whether the code at `pc` is signal return code. Used for code without unwind information.
bool is_signal_return(uint64_t pc) {
  uint8_t code[GPUPROF_SIGNAL_RETURN_BYTES];
  return safe_read(reinterpret_cast<const void*>(pc), code, sizeof(code)) && gpuprof_is_signal_return(code) != 0;
}

uint64_t rule_without_cfi(uint64_t at, bool return_address) {
  if (!return_address) {
    return GPUPROF_UNWIND_NONE;
  }
  if (is_signal_return(at + 1)) {
    return GPUPROF_UNWIND_SIGNAL;
  }
  return follows_call(at + 1) ? kNoRuleAfterCall : uint64_t{GPUPROF_UNWIND_NONE};
}

// Returns the rule for a return address without a call before it. If that address is the start of a function, it
// belongs to the outermost frame of a stack.
uint64_t rule_at_start(uint64_t rule) {
  const bool start = rule == GPUPROF_RULE_AT_ENTRY || GPUPROF_UNWIND_RULE_KIND(rule) == GPUPROF_UNWIND_END;
  return start ? GPUPROF_UNWIND_END : GPUPROF_UNWIND_NONE;
}

}  // namespace

bool may_return_to(uint64_t pc) {
  return follows_call(pc) || is_signal_return(pc);
}

bool still_there(WalkMemory& memory, uint32_t module, uint64_t at) {
  Module now;
  const bool found = find_module(at, &now);
  if (module == 0 || module >= WalkMemory::kMaxModules) {
    return module == 0 && !found;
  }
  if (!found || !same(now, known[module].module) || fingerprint_of(known[module].parts) != known[module].fingerprint) {
    return false;
  }
  memory.seen_in[module] = memory.walks;
  return true;
}

uint64_t find_rule(WalkMemory& memory, uint64_t at, bool return_address) {
  if (at >> kAddressBits != 0) {
    return GPUPROF_UNWIND_NONE;
  }
  Module module;
  ModuleParts parts;
  uint32_t index = 0;
  uint64_t rule = GPUPROF_UNWIND_NONE;
  bool keep = true;
  if (find_module(at, &module) && find_parts(module, &parts)) {
    const uint64_t fingerprint = fingerprint_of(parts);
    index = learn(module, parts, fingerprint);
    keep = index != 0 && fingerprint != 0;
    rule = unwind::rule_of(parts.tables, module.header, at);
  }
  if (GPUPROF_UNWIND_RULE_KIND(rule) == GPUPROF_UNWIND_NONE) {
    rule = rule_without_cfi(at, return_address);
    if (rule == GPUPROF_UNWIND_NONE && index != 0 && return_address) {
      rule = rule_at_start(unwind::rule_of(parts.tables, module.header, at + 1));
    }
    keep = keep && rule != GPUPROF_UNWIND_NONE;
  }
  if (keep) {
    remember(at, index, rule);
    if (index != 0) {
      memory.seen_in[index] = memory.walks;
    }
  }
  return rule;
}

ModuleOfAddress module_of_address(WalkMemory& memory, uint64_t at) {
  const CachedRule cached = load_rule(at);
  uint32_t index = 0;
  if (cached.is_of(at) &&
      (memory.seen_in[cached.module()] == memory.walks || still_there(memory, cached.module(), at))) {
    index = cached.module();
  } else {
    Module module;
    ModuleParts parts;
    if (!find_module(at, &module) || !find_parts(module, &parts)) {
      return {0, 0};
    }
    const uint64_t fingerprint = fingerprint_of(parts);
    index = fingerprint == 0 ? 0 : learn(module, parts, fingerprint);
    if (index == 0) {  // the table is full: the module may have replaced another one
      return {0, content_of(module, fingerprint)};
    }
  }
  const Known& found = known[index];
  return {index, load_relaxed(&replaced[index]) != 0 ? content_of(found.module, found.fingerprint) : 0};
}

bool describe_known_module(uint32_t index, gpuprof_module* record, char* path) {
  return describe_module(known[index].module, known[index].parts, record, path);
}

void reset_rule_cache() {
  unlock(&known_lock);
}

}  // namespace gpuprof::injection
