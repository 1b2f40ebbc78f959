#include "analyze/rows/durations.h"

#include <random>

#include "analyze/rows/summarize.h"
#include "catch.h"
#include "profile/text_input.h"

using namespace gpuprof;
using analyze::Durations;
using profile::DurationBuckets;

namespace {

Durations durations_of(const std::vector<uint64_t>& values) {
  std::vector<profile::Duration::Bucket> buckets;
  for (const uint64_t value : values) {
    ++profile::count_of_bucket(buckets, DurationBuckets::of(value));
  }
  Durations durations;
  durations.add(buckets);
  return durations;
}

}  // namespace

TEST_CASE("percentiles are at most 1/64 above those of the durations themselves") {
  std::mt19937_64 random(1);  // NOLINT(cert-msc51-cpp): the same values in each run
  std::lognormal_distribution<double> spread(9, 2);
  for (int repeat = 0; repeat < 50; ++repeat) {
    std::vector<uint64_t> values;
    for (size_t i = 0; i <= random() % 400; ++i) {
      values.push_back(static_cast<uint64_t>(spread(random)));
    }
    const Durations durations = durations_of(values);
    std::sort(values.begin(), values.end());
    const auto [median, p95, p99] = durations.percentiles(values.size(), values.front(), values.back());
    for (const auto& [percent, found] : {std::pair(50, median), {95, p95}, {99, p99}}) {
      const uint64_t exact = values[(values.size() * percent + 99) / 100 - 1];
      REQUIRE(found);
      CHECK(*found >= exact);
      CHECK(*found <= exact + exact / 64);
    }
  }
}

TEST_CASE("a histogram has each duration once, between the shortest and the longest one") {
  const auto one = durations_of({500, 500, 500}).histogram(5);
  CHECK(one == std::vector<uint64_t>{0, 0, 3, 0, 0});
  // From 64 ns on, each factor of 2 has 64 buckets. 10 factors are 10 equal parts.
  std::vector<uint64_t> values;
  for (uint64_t value = 64; value < 64 << 10U; value *= 2) {
    values.push_back(value);
  }
  values.push_back((64 << 10U) - 1);
  const auto ten = durations_of(values).histogram(10);
  CHECK(ten == std::vector<uint64_t>{1, 1, 1, 1, 1, 1, 1, 1, 1, 2});
}

TEST_CASE("a percentile is unknown if durations that are missing could change it") {
  std::vector<uint64_t> values(990, 1000);
  values.resize(1000, 80'000);
  const Durations durations = durations_of(values);
  const auto complete = durations.percentiles(1000, 1000, 80'000);
  CHECK(complete.p99_ns == 1007);
  const auto one_missing = durations.percentiles(1001, 1000, 80'000);
  CHECK(one_missing.median_ns == 1007);
  CHECK(one_missing.p95_ns == 1007);
  CHECK(one_missing.p99_ns == std::nullopt);
  CHECK(durations.percentiles(3000, 1000, 80'000).median_ns == std::nullopt);
  CHECK(durations.percentiles(900, 1000, 80'000).median_ns == 1007);  // a rounded estimate of the count
  CHECK(Durations().percentiles(3, 1, 9).median_ns == std::nullopt);
  CHECK(Durations().percentiles(0, 0, 0).median_ns == std::nullopt);
}

TEST_CASE("percentiles are those of the slices that are selected") {
  const auto percentiles = [](std::optional<analyze::TimeWindow> window) {
    auto reader = test::open_text(
        "GPUPROF;3.5\nMETA;interval_ns;1000000000\nSTRING;1;k\nPROCESS;1;1;0;0;0;0;0;0\n"
        "WORK;1;1;0;0;0;0;0;0;0;0;kernel;1;0\nWORK;2;1;1;0;0;0;0;0;0;0;kernel;1;0\n"
        "GPU;0;1;2;20;10;10;0;0;0\nGPU;1;2;3;90;30;30;0;0;0\nDURATION;0;1;10;2\nDURATION;1;2;30;3\n");
    REQUIRE(reader);
    auto rows = analyze::aggregate(*reader, {.durations = true, .window = window});
    REQUIRE(rows);
    return analyze::summarize(*rows).work.at(0).percentiles;
  };
  CHECK(percentiles(std::nullopt).median_ns == 30);
  CHECK(percentiles(analyze::TimeWindow{0, 1'000'000'000}).p99_ns == 10);
}
