#include "profile/latency_bucket.h"

#include "catch.h"

using namespace gpuprof::profile;

TEST_CASE("bucket numbers are those of FORMAT.md") {
  static_assert(bucket_of(0) == 0);
  static_assert(bucket_of(7) == 7);
  static_assert(bucket_of(8) == 8);
  static_assert(bucket_of(15) == 15);
  static_assert(bucket_of(16) == 16);
  static_assert(bucket_of(17) == 16);
  static_assert(bucket_of(18) == 17);
  static_assert(bucket_of(31) == 23);
  static_assert(bucket_of(32) == 24);
  static_assert(bucket_of(uint64_t{1} << 63U) == 8 * 61);
  static_assert(bucket_of(UINT64_MAX) == 495);
}

TEST_CASE("the ends of every bucket are in it, and buckets leave no gap") {
  CHECK(bucket_low(0) == 0);
  for (uint32_t bucket = 0; bucket < kLatencyBuckets; ++bucket) {
    INFO(bucket);
    CHECK(bucket_of(bucket_low(bucket)) == bucket);
    CHECK(bucket_of(bucket_high(bucket)) == bucket);
    if (bucket + 1 < kLatencyBuckets) {
      CHECK(bucket_low(bucket + 1) == bucket_high(bucket) + 1);
    } else {
      CHECK(bucket_high(bucket) == UINT64_MAX);
    }
    // A bucket is at most 1/8 as wide as its lower end.
    CHECK((bucket_high(bucket) - bucket_low(bucket) + 1) * 8 <= (bucket < 8 ? 8 : bucket_low(bucket)));
  }
}

TEST_CASE("buckets around every power of two follow their formula") {
  for (uint32_t e = 3; e < 64; ++e) {
    for (uint64_t m = 0; m < 8; ++m) {
      const uint64_t low = (uint64_t{8} + m) << (e - 3);
      const uint32_t expected = 8 * (e - 2) + static_cast<uint32_t>(m);
      INFO("e " << e << " m " << m);
      CHECK(bucket_of(low) == expected);
      CHECK(bucket_of(low - 1) == expected - 1);
    }
  }
}
