// A log-scaled histogram of latencies, and those of all work since the last batch.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <utility>
#include <vector>

#include "backend/event_sink.h"
#include "profile/records.h"

namespace gpuprof::record {

struct Histogram {
  uint64_t count = 0;
  uint64_t sum_ns = 0;
  uint64_t min_ns = UINT64_MAX;
  uint64_t max_ns = 0;
  std::vector<profile::Latency::Bucket> buckets;  // in order; only those that hold something

  void add(uint64_t ns);
};

class Latencies {
 public:
  // The phases of one piece of work whose launch was called at `call_ns` (0: not known). Times that a graph launch
  // left from an earlier one, and times out of order, say nothing and are left out.
  void add(profile::WorkId work, uint64_t call_ns, const backend::GpuOp& op);

  using Key = std::pair<profile::WorkId, profile::Phase>;
  std::vector<std::pair<Key, Histogram>> take();
  [[nodiscard]] size_t size() const { return histograms_.size(); }

 private:
  struct Hash {
    size_t operator()(const Key& key) const {
      return (uint64_t{profile::index(key.first)} << 2 | static_cast<uint64_t>(key.second)) * 0x9e3779b97f4a7c15u >> 16;
    }
  };
  std::unordered_map<Key, Histogram, Hash> histograms_;
  uint64_t sum_ns_[4] = {};  // by phase, since the start
};

}  // namespace gpuprof::record
