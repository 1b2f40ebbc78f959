#include "record/join/launches/launch_table.h"

#include "catch.h"

using gpuprof::record::LaunchTable;
using gpuprof::record::PendingLaunch;

namespace {

constexpr uint64_t kSecond = 1'000'000'000;

PendingLaunch at(uint64_t time_ns) {
  return {.stack = 7, .time_ns = time_ns};
}

}  // namespace

TEST_CASE("a launch is removed with its work, or some time after the last of several work items") {
  LaunchTable table;
  table.insert(1, 1, at(kSecond));
  table.insert(1, 2, at(kSecond));
  table.match(1, 1, *table.find(1, 1), 0);
  CHECK(table.find(1, 1) == nullptr);
  table.match(1, 2, *table.find(1, 2), 12 * kSecond);
  table.expire(11 * kSecond);
  REQUIRE(table.find(1, 2) != nullptr);
  table.match(1, 2, *table.find(1, 2), 21 * kSecond);
  table.expire(20 * kSecond);
  CHECK(table.find(1, 2) != nullptr);
  table.expire(22 * kSecond);
  CHECK(table.find(1, 2) == nullptr);
  CHECK(table.queued() == 0);
}

TEST_CASE("the oldest pending launch is known") {
  LaunchTable table;
  CHECK(table.oldest_waiting(9 * kSecond) == 9 * kSecond);
  table.insert(1, 1, at(1 * kSecond));
  table.insert(1, 2, at(2 * kSecond));
  table.insert(1, 3, at(3 * kSecond));
  table.match(1, 2, *table.find(1, 2), 0);
  table.expire(4 * kSecond);
  CHECK(table.oldest_waiting(4 * kSecond) == 1 * kSecond);
  table.match(1, 1, *table.find(1, 1), 14 * kSecond);
  table.expire(4 * kSecond);
  CHECK(table.oldest_waiting(4 * kSecond) == 3 * kSecond);
  table.expire(3 * kSecond + LaunchTable::kHoldNs);
  CHECK(table.oldest_waiting(80 * kSecond) == 80 * kSecond);
  CHECK(table.find(1, 3) != nullptr);  // launch 3 is no longer waited for, but its work may still arrive
  table.end_source(1);
  CHECK(table.size() + table.queued() == 0);
}

TEST_CASE("a reused correlation id is another launch") {
  LaunchTable table;
  table.insert(1, 1, at(1 * kSecond));
  table.insert(1, 1, at(50 * kSecond));
  table.expire(51 * kSecond);
  CHECK(table.size() == 1);
  CHECK(table.oldest_waiting(51 * kSecond) == 50 * kSecond);
}

TEST_CASE("launches without work do not accumulate") {
  LaunchTable table;
  uint64_t now = kSecond;
  for (uint64_t i = 0; i < 3 * LaunchTable::kMaxEntries; ++i) {
    now += 10'000;
    table.insert(1, i, at(now));
    if (i % 200 == 0) {
      table.expire(now);
    }
  }
  table.expire(now);
  CHECK(table.size() <= LaunchTable::kMaxEntries);
  CHECK(table.find(1, 3 * LaunchTable::kMaxEntries - 1) != nullptr);
  CHECK(table.queued() <= 2 * LaunchTable::kMaxEntries);
}

TEST_CASE("a launch that waits forever does not keep later launches queued") {
  LaunchTable table;
  table.insert(1, 0, at(kSecond));
  uint64_t now = kSecond;
  for (uint64_t i = 1; i < 500'000; ++i) {
    now += 10'000;
    table.insert(1, i, at(now));
    table.match(1, i, *table.find(1, i), 0);
    if (i % 1000 == 0) {
      table.expire(now);
    }
  }
  CHECK(table.size() == 1);
  CHECK(table.queued() < 10'000);
}
