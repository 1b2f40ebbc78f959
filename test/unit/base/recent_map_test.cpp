#include "base/recent_map.h"

#include "catch.h"

TEST_CASE("an entry that was found last is not found after it was removed") {
  gpuprof::RecentMap<std::unordered_map<int, int>> map;
  map[1] = 10;
  map[2] = 20;
  REQUIRE(map.find(1) != nullptr);
  SECTION("by its key") {
    map.erase(1);
  }
  SECTION("by a condition") {
    map.erase_if([](const auto& entry) { return entry.first == 1; });
  }
  SECTION("with all others") {
    map.clear();
    CHECK(map.empty());
  }
  CHECK(map.find(1) == nullptr);
  CHECK_FALSE(map.contains(1));
  CHECK(map[1] == 0);
}

TEST_CASE("new entries do not move an entry that is in use") {
  gpuprof::RecentMap<std::unordered_map<int, int>> map;
  int& first = map[0];
  for (int i = 1; i < 10'000; ++i) {
    map[i] = i;
  }
  first = 7;
  CHECK(*map.find(0) == 7);
  CHECK(*map.find(9'999) == 9'999);
  CHECK(map.size() == 10'000);
}
