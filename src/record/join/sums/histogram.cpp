#include "record/join/sums/histogram.h"

#include <algorithm>

#include "profile/latency_bucket.h"

namespace gpuprof::record {

void Histogram::add(uint64_t ns) {
  ++count;
  sum_ns += ns;
  min_ns = std::min(min_ns, ns);
  max_ns = std::max(max_ns, ns);
  const uint32_t bucket = profile::bucket_of(ns);
  const auto at = std::lower_bound(buckets.begin(), buckets.end(), bucket,
                                   [](const auto& entry, uint32_t wanted) { return entry.bucket < wanted; });
  if (at != buckets.end() && at->bucket == bucket) {
    ++at->count;
  } else {
    buckets.insert(at, {bucket, 1});
  }
}

}  // namespace gpuprof::record
