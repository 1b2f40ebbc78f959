#include "base/slot_table.h"

#include <vector>

#include "base/hash.h"
#include "catch.h"

using namespace gpuprof;

namespace {

struct Numbers {
  uint64_t (*hash)(uint64_t);
  std::vector<uint64_t> values = {};
  SlotTable slots = {};

  [[nodiscard]] size_t find(uint64_t value) const {
    return slots.find(hash(value), [&](uint32_t position) { return values[position] == value; });
  }
  void add(uint64_t value) {
    const size_t at = find(value);
    REQUIRE(slots.position(at) == SlotTable::kEmpty);
    values.push_back(value);
    slots.put(at, hash(value), static_cast<uint32_t>(values.size() - 1));
  }
};

void finds_all(uint64_t (*hash)(uint64_t), uint64_t count) {
  Numbers numbers{hash};
  for (uint64_t i = 0; i < count; ++i) {
    numbers.add(i * 3);
  }
  for (uint64_t i = 0; i < count; ++i) {
    CHECK(numbers.slots.position(numbers.find(i * 3)) == i);
    CHECK(numbers.slots.position(numbers.find(i * 3 + 1)) == SlotTable::kEmpty);
  }
}

}  // namespace

TEST_CASE("a table finds exactly the values that were added, at any size") {
  finds_all(hash_of, 10'000);
}

TEST_CASE("values with equal hashes or equal slots are distinguished") {
  finds_all([](uint64_t) { return uint64_t{7}; }, 200);
  finds_all([](uint64_t value) { return value << 32U; }, 200);
  finds_all([](uint64_t value) { return value << 54U; }, 2000);
  finds_all([](uint64_t) { return UINT64_MAX; }, 200);  // the last slot; the search continues at the first slot
}

TEST_CASE("a value can replace another value in its slot") {
  Numbers numbers{hash_of};
  numbers.add(5);
  numbers.values.push_back(5);
  numbers.slots.replace(numbers.find(5), 1);
  CHECK(numbers.slots.position(numbers.find(5)) == 1);
}
