// A histogram of durations with logarithmic buckets.
#pragma once

#include <cstdint>
#include <vector>

#include "profile/records.h"

namespace gpuprof::record {

struct Histogram {
  uint64_t count = 0;
  uint64_t sum_ns = 0;
  uint64_t min_ns = UINT64_MAX;
  uint64_t max_ns = 0;
  std::vector<profile::Latency::Bucket> buckets;  // in ascending order, without empty buckets

  void add(uint64_t ns);
};

}  // namespace gpuprof::record
