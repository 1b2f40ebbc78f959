// Interns the works of one process image, and limits their number in long recordings.
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
  // Programs may create a stream or a thread for each request. Above these limits, a new stream becomes kOtherStreams,
  // and a new thread becomes 0.
  static constexpr size_t kMaxStreams = 1024;
  static constexpr size_t kMaxThreads = 4096;  // limit on pairs of tid and name
  // Above this number of works, or above MemoryBudget::kLimit, works differ only in device, kernel and operation. Above
  // MemoryBudget::kFull, they differ only in the operation.
  static constexpr size_t kMaxWorks = 2'000'000;
  static constexpr uint64_t kOtherStreams = UINT64_MAX;

  // Returns the id of the work. A new work gets the id `next_id` and is appended to `made`. Above the limits, clears
  // the stacks of `key`, so that works with different stacks become one work.
  profile::WorkId intern(WorkKey& key, uint32_t& next_id, std::vector<NewWork>& made, MemoryBudget& memory);

  template <typename Use>
  void for_each(Use use) const {
    for (const auto& [key, id] : works_) {
      use(key, id);
    }
  }

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
