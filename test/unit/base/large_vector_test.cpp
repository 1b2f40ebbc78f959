#include "base/large_vector.h"

#include <cstdint>
#include <numeric>

#include "catch.h"

using namespace gpuprof;

TEST_CASE("a growing vector keeps its elements and moves to huge pages") {
  LargeVector<uint64_t> numbers;
  constexpr uint64_t kCount = 3'000'000;  // 24 MB
  for (uint64_t i = 0; i < kCount; ++i) {
    numbers.push_back(i);
  }
  CHECK(std::accumulate(numbers.begin(), numbers.end(), uint64_t{0}) == kCount * (kCount - 1) / 2);
  CHECK(reinterpret_cast<uintptr_t>(numbers.data()) % (2U << 20U) == 0);
  const LargeVector<uint64_t> copy = numbers;
  numbers.clear();
  numbers.shrink_to_fit();
  CHECK(copy.front() == 0);
  CHECK(copy.back() == kCount - 1);
}

TEST_CASE("elements added to a large vector are zero") {
  LargeVector<uint32_t> numbers(10, 7);
  numbers.resize(2'000'000);
  CHECK(numbers[9] == 7);
  CHECK(numbers[10] == 0);
  CHECK(numbers.back() == 0);
}
