#include "profile/log_buckets.h"

#include "catch.h"

using namespace gpuprof::profile;

TEST_CASE("bucket numbers are those of FORMAT.md") {
  static_assert(LatencyBuckets::of(0) == 0);
  static_assert(LatencyBuckets::of(7) == 7);
  static_assert(LatencyBuckets::of(8) == 8);
  static_assert(LatencyBuckets::of(15) == 15);
  static_assert(LatencyBuckets::of(16) == 16);
  static_assert(LatencyBuckets::of(17) == 16);
  static_assert(LatencyBuckets::of(18) == 17);
  static_assert(LatencyBuckets::of(31) == 23);
  static_assert(LatencyBuckets::of(32) == 24);
  static_assert(LatencyBuckets::of(uint64_t{1} << 63U) == 8 * 61);
  static_assert(LatencyBuckets::of(UINT64_MAX) == 495);
  static_assert(DurationBuckets::of(63) == 63);
  static_assert(DurationBuckets::of(64) == 64);
  static_assert(DurationBuckets::of(129) == 128);
  static_assert(DurationBuckets::of(130) == 129);
  static_assert(DurationBuckets::of(UINT64_MAX) == 3775);
}

TEMPLATE_TEST_CASE("the ends of every bucket are in it, and buckets leave no gap", "", LatencyBuckets,
                   DurationBuckets) {
  CHECK(TestType::low(0) == 0);
  for (uint32_t bucket = 0; bucket < TestType::kCount; ++bucket) {
    INFO(bucket);
    CHECK(TestType::of(TestType::low(bucket)) == bucket);
    CHECK(TestType::of(TestType::high(bucket)) == bucket);
    if (bucket + 1 < TestType::kCount) {
      CHECK(TestType::low(bucket + 1) == TestType::high(bucket) + 1);
    } else {
      CHECK(TestType::high(bucket) == UINT64_MAX);
    }
    // A bucket is at most 1/8 or 1/64 as wide as its lower end.
    CHECK((TestType::high(bucket) - TestType::low(bucket) + 1) * TestType::kEach <=
          std::max<uint64_t>(TestType::kEach, TestType::low(bucket)));
  }
}

TEMPLATE_TEST_CASE("buckets around every power of two follow their formula", "", LatencyBuckets, DurationBuckets) {
  constexpr uint32_t kFirst = TestType::kEach == 8 ? 3 : 6;
  for (uint32_t e = kFirst; e < 64; ++e) {
    for (uint64_t m = 0; m < TestType::kEach; ++m) {
      const uint64_t low = (uint64_t{TestType::kEach} + m) << (e - kFirst);
      const uint32_t expected = TestType::kEach * (e - kFirst + 1) + static_cast<uint32_t>(m);
      INFO("e " << e << " m " << m);
      CHECK(TestType::of(low) == expected);
      CHECK(TestType::of(low - 1) == expected - 1);
    }
  }
}
