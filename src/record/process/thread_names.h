#pragma once

#include <cstdint>
#include <string_view>
#include <unordered_map>

#include "record/memory_budget.h"
#include "record/process/name_table.h"

namespace gpuprof::record {

class ThreadNames {
 public:
  // With more entries, entries of ended threads are removed.
  static constexpr size_t kKept = 65536;

  ThreadNames(NameTable& names, MemoryBudget* memory) : names_(names), memory_(memory) {}

  void set(uint32_t pid, uint32_t tid, std::string_view name);
  [[nodiscard]] NameIndex find(uint32_t pid, uint32_t tid) const;  // 0: unknown

  void forget(uint32_t pid);
  // Limits memory: some processes create a thread for each request. If there are many entries, removes those of ended
  // threads.
  void bound();

 private:
  NameTable& names_;
  MemoryBudget* memory_;
  std::unordered_map<uint64_t, NameIndex> threads_;  // pid << 32 | tid
  size_t limit_ = kKept;
};

}  // namespace gpuprof::record
