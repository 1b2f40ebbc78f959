// The buckets of LATENCY records (see FORMAT.md). Below 8 ns, each value has a bucket. Above, each power of two has
// eight.
#pragma once

#include <bit>
#include <cstdint>

namespace gpuprof::profile {

inline constexpr uint32_t kLatencyBuckets = 496;  // the last one ends with 2^64 - 1 ns

constexpr uint32_t bucket_of(uint64_t ns) {
  if (ns < 8) {
    return static_cast<uint32_t>(ns);
  }
  const auto highest = static_cast<uint32_t>(std::bit_width(ns)) - 1;
  return 8 * (highest - 2) + static_cast<uint32_t>((ns >> (highest - 3)) & 7U);
}

// Return the smallest and the largest value in a bucket. `bucket` must be less than kLatencyBuckets.
constexpr uint64_t bucket_low(uint32_t bucket) {
  return bucket < 8 ? bucket : (uint64_t{8} + bucket % 8) << (bucket / 8 - 1);
}
constexpr uint64_t bucket_high(uint32_t bucket) {
  return bucket < 8 ? bucket : bucket_low(bucket) + ((uint64_t{1} << (bucket / 8 - 1)) - 1);
}

static_assert(bucket_of(UINT64_MAX) == kLatencyBuckets - 1);

}  // namespace gpuprof::profile
