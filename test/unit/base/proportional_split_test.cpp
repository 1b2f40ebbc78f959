#include "base/proportional_split.h"

#include <cmath>
#include <numeric>

#include "catch.h"

using gpuprof::ProportionalSplit;

namespace {

uint64_t sum(const std::vector<uint64_t>& numbers) {
  return std::accumulate(numbers.begin(), numbers.end(), uint64_t{0});
}

}  // namespace

TEST_CASE("parts sum to the count, and differ from the exact shares by less than one") {
  ProportionalSplit split;
  const std::vector<uint64_t> weights = {4, 0, 1, 7, 3};
  for (const uint64_t count : {0, 1, 2, 14, 15, 16, 1000, 123457}) {
    const auto parts = split.split(count, weights);
    CHECK(sum(parts) == count);
    CHECK(parts[1] == 0);
    for (size_t i = 0; i < parts.size(); ++i) {
      const double share = static_cast<double>(count) * static_cast<double>(weights[i]) / 15;
      CHECK(std::abs(static_cast<double>(parts[i]) - share) < 1.001);
    }
  }
}

TEST_CASE("many small counts add up to the same shares as a large one") {
  ProportionalSplit split;
  const std::vector<uint64_t> weights = {60, 25, 10, 5};
  std::vector<uint64_t> sums(weights.size());
  constexpr uint64_t kCalls = 10'000;
  for (uint64_t call = 0; call < kCalls; ++call) {
    const auto parts = split.split(1, weights);
    for (size_t i = 0; i < parts.size(); ++i) {
      sums[i] += parts[i];
    }
  }
  CHECK(sum(sums) == kCalls);
  for (size_t i = 0; i < weights.size(); ++i) {
    CHECK(std::abs(static_cast<double>(sums[i]) - static_cast<double>(weights[i]) * kCalls / 100) < 10);
  }
}

TEST_CASE("empty, zero and very large weights are split correctly") {
  ProportionalSplit split;
  CHECK(split.split(5, {}).empty());
  CHECK(split.split(5, {9}) == std::vector<uint64_t>{5});
  CHECK(sum(split.split(5, {0, 0, 0})) == 5);
  const auto large = split.split(uint64_t{1} << 62, {uint64_t{1} << 62, uint64_t{1} << 62});
  CHECK(sum(large) == uint64_t{1} << 62);
  CHECK(large[0] / 2 == (uint64_t{1} << 60));
}
