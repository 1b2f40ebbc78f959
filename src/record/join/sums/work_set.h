// The interned works of one process image, and what bounds their number in a long run.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "record/batch.h"
#include "record/memory_budget.h"

namespace gpuprof::record {

class WorkSet {
 public:
  // So many are kept apart in one process image. Programs that make a stream or a thread a request have the rest
  // together: stream UINT64_MAX, thread 0 without a name.
  static constexpr size_t kMaxStreams = 1024;
  static constexpr size_t kMaxThreads = 4096;  // pairs of id and name
  // Beyond so many, or beyond the memory budget, only kernels, operations and devices are told apart; where that is
  // full, only operations.
  static constexpr size_t kMaxWorks = 2'000'000;
  static constexpr uint64_t kOtherStreams = UINT64_MAX;

  // The work's id; a new one is taken from `next_id` and appended to `made`. Where the stacks are not kept apart any
  // more, `key` loses them: the work counts as work without one.
  profile::WorkId intern(WorkKey& key, uint32_t& next_id, std::vector<NewWork>& made, MemoryBudget& memory);

 private:
  struct Hash {
    size_t operator()(const WorkKey& key) const;
  };
  WorkKey bounded(WorkKey key, const MemoryBudget& memory);

  std::unordered_map<WorkKey, profile::WorkId, Hash> works_;
  std::unordered_set<uint64_t> streams_;
  std::unordered_set<uint64_t> threads_;  // tid << 32 | name
};

}  // namespace gpuprof::record
