// Interns the works of one process image, and bounds their number in long recordings.
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
  // Above these limits, a new stream becomes UINT64_MAX and a new thread 0. Programs may create one for each request.
  static constexpr size_t kMaxStreams = 1024;
  static constexpr size_t kMaxThreads = 4096;  // (tid, name) pairs
  // Above this number or MemoryBudget::kLimit, only device, kernel and operation distinguish works. Above
  // MemoryBudget::kFull, only the operation does.
  static constexpr size_t kMaxWorks = 2'000'000;
  static constexpr uint64_t kOtherStreams = UINT64_MAX;

  // Returns the work's id. A new work gets the id `next_id` and is appended to `made`. Above the limits, clears the
  // stacks of `key`, so that works with different stacks become one work.
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
