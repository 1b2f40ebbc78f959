// Measures how far apart processes are that repeat the same NVTX range, such as the ranks of a job with their steps.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <map>

#include "profile/records.h"

namespace gpuprof::record {

class RangeLag {
 public:
  // A process has ended the range once more. Returns how much earlier or later another process ended it as often; 0: no
  // other process has done so.
  uint64_t add(profile::ProcessId process, uint64_t end_ns) {
    if (!ended_.contains(process) && ended_.size() >= kMaxProcesses) {
      return 0;
    }
    const uint64_t number = ended_[process]++;
    if (number >= forgotten_ + first_ns_.size()) {
      first_ns_.push_back(end_ns);
      if (first_ns_.size() > kMostAhead) {
        first_ns_.pop_front();
        ++forgotten_;
      }
      return 0;
    }
    if (number < forgotten_) {
      return 0;
    }
    uint64_t& first_ns = first_ns_[number - forgotten_];
    const uint64_t lag_ns = std::max(first_ns, end_ns) - std::min(first_ns, end_ns);
    first_ns = std::min(first_ns, end_ns);
    return lag_ns;
  }

 private:
  static constexpr size_t kMaxProcesses = 4096;
  static constexpr size_t kMostAhead = 100'000;  // a process that is further behind is not compared

  std::map<profile::ProcessId, uint64_t> ended_;  // how often each process has ended the range
  std::deque<uint64_t> first_ns_;                 // when the first process ended it for the n-th time
  uint64_t forgotten_ = 0;                        // number of entries that were removed from first_ns_
};

}  // namespace gpuprof::record
