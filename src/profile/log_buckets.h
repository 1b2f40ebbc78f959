// Logarithmic buckets of the values in LATENCY and DURATION records (see FORMAT.md).
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "wire/log_buckets.h"

namespace gpuprof::profile {

// Below 2^kBits, each value has a bucket. Above, each power of two has 2^kBits buckets.
template <uint32_t kBits>
struct LogBuckets {
  static constexpr uint32_t kEach = 1U << kBits;
  static constexpr uint32_t kCount = (65 - kBits) * kEach;  // the last one ends with 2^64 - 1

  static constexpr uint32_t of(uint64_t value) { return gpuprof_log_bucket(value, kBits); }

  // Return the smallest and the largest value in a bucket. `bucket` must be less than kCount.
  static constexpr uint64_t low(uint32_t bucket) {
    return bucket < kEach ? bucket : (uint64_t{kEach} + bucket % kEach) << (bucket / kEach - 1);
  }
  static constexpr uint64_t high(uint32_t bucket) {
    return bucket < kEach ? bucket : low(bucket) + ((uint64_t{1} << (bucket / kEach - 1)) - 1);
  }
};

using LatencyBuckets = LogBuckets<3>;                              // no bucket is wider than 1/8 of its smallest value
using DurationBuckets = LogBuckets<GPUPROF_DURATION_BUCKET_BITS>;  // 1/64
static_assert(LatencyBuckets::of(UINT64_MAX) == LatencyBuckets::kCount - 1);
static_assert(DurationBuckets::of(UINT64_MAX) == DurationBuckets::kCount - 1);

template <typename BucketsOf>
struct BucketCount {
  using Buckets = BucketsOf;
  uint32_t bucket = 0;
  uint64_t count = 0;
  bool operator==(const BucketCount&) const = default;
};

// Returns the count of a bucket, and inserts the bucket if it is missing. `buckets` must be ascending.
template <typename Buckets>
uint64_t& count_of_bucket(std::vector<BucketCount<Buckets>>& buckets, uint32_t bucket) {
  auto place =
      std::lower_bound(buckets.begin(), buckets.end(), bucket,
                       [](const BucketCount<Buckets>& known, uint32_t wanted) { return known.bucket < wanted; });
  if (place == buckets.end() || place->bucket != bucket) {
    place = buckets.insert(place, {bucket, 0});
  }
  return place->count;
}

}  // namespace gpuprof::profile
