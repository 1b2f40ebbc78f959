// Holds histograms of launch latencies by phase, for all work since the last batch.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/hash.h"
#include "profile/records.h"
#include "record/join/context/work_event.h"
#include "record/join/sums/histogram.h"

namespace gpuprof::record {

class Latencies {
 public:
  // Adds the phases of one work item. `call_ns` is the time of its launch; 0: unknown. Ignores graph nodes, because
  // their times come from an earlier launch. Ignores the driver's times if they are not in order.
  void add(profile::WorkId work, uint64_t call_ns, const WorkEvent& event);

  using Key = std::pair<profile::WorkId, profile::Phase>;
  std::vector<std::pair<Key, Histogram>> take();
  [[nodiscard]] size_t size() const { return histograms_.size(); }

 private:
  struct Hash {
    size_t operator()(const Key& key) const {
      return hash_of(uint64_t{profile::index(key.first)} << 2U | static_cast<uint64_t>(key.second));
    }
  };
  std::unordered_map<Key, Histogram, Hash> histograms_;
  uint64_t sum_ns_[4] = {};  // sums since the start of the recording; index: phase
};

}  // namespace gpuprof::record
