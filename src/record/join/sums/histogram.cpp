#include "record/join/sums/histogram.h"

#include <algorithm>

#include "profile/log_buckets.h"

namespace gpuprof::record {

void Histogram::add(uint64_t ns) {
  ++count;
  sum_ns += ns;
  min_ns = std::min(min_ns, ns);
  max_ns = std::max(max_ns, ns);
  ++profile::count_of_bucket(buckets, profile::LatencyBuckets::of(ns));
}

}  // namespace gpuprof::record
