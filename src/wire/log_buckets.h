/* The numbers of logarithmic buckets, on which injection libraries and recorder must agree. Plain C, no libc. */
#ifndef GPUPROF_WIRE_LOG_BUCKETS_H
#define GPUPROF_WIRE_LOG_BUCKETS_H

#include <stdint.h> /* NOLINT(modernize-deprecated-headers): this is C, too */

#ifdef __cplusplus
#define GPUPROF_CONSTEXPR constexpr
#else
#define GPUPROF_CONSTEXPR static inline
#endif

/* Below 2^bits, each value has a bucket. Above, each power of two has 2^bits buckets. */
GPUPROF_CONSTEXPR uint32_t gpuprof_log_bucket(uint64_t value, uint32_t bits) {
  const uint32_t each = 1U << bits;
  if (value < each) {
    return (uint32_t)value;
  }
  const uint32_t highest = 63 - (uint32_t)__builtin_clzll(value);
  return each * (highest - bits + 1) + ((uint32_t)(value >> (highest - bits)) & (each - 1));
}

/* Bits of the buckets of durations: no bucket is wider than 1/64 of its smallest value. */
#define GPUPROF_DURATION_BUCKET_BITS 6u

GPUPROF_CONSTEXPR uint32_t gpuprof_duration_bucket(uint64_t ns) {
  return gpuprof_log_bucket(ns, GPUPROF_DURATION_BUCKET_BITS);
}

#endif /* GPUPROF_WIRE_LOG_BUCKETS_H */
