// How long launches waited, by phase: of all work since the last batch.
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
  // The phases of one piece of work whose launch was called at `call_ns` (0: not known). Times that a graph launch
  // left from an earlier one, and times out of order, say nothing and are left out.
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
  uint64_t sum_ns_[4] = {};  // by phase, since the start
};

}  // namespace gpuprof::record
