#include "output/timeline_tracks.h"

#include <random>
#include <set>

#include "catch.h"

using namespace gpuprof;
using output::DepthCounter;
using output::Lane;
using output::RecentTable;
using output::TrackNumbers;

TEST_CASE("a lane accepts intervals that overlap no other one, in any order") {
  Lane lane;
  CHECK(lane.take(10, 20));
  CHECK(lane.take(20, 30));
  CHECK(lane.take(5, 10));
  CHECK_FALSE(lane.take(15, 16));
  CHECK_FALSE(lane.take(9, 11));
  CHECK_FALSE(lane.take(0, 100));
  CHECK_FALSE(lane.take(29, 40));
  CHECK_FALSE(lane.take(10, 10));
  CHECK(lane.take(30, 30));
}

TEST_CASE("a lane that dropped its oldest intervals rejects intervals at that time") {
  std::mt19937 random(3);
  Lane lane;
  std::vector<std::pair<uint64_t, uint64_t>> taken;
  for (int i = 0; i < 20000; ++i) {
    const uint64_t start = random() % 1000000;
    const uint64_t end = start + random() % 30;
    if (lane.take(start, end)) {
      taken.emplace_back(start, end);
    }
  }
  CHECK(taken.size() > 4096);
  std::sort(taken.begin(), taken.end());
  for (size_t i = 1; i < taken.size(); ++i) {
    CHECK(taken[i - 1].second <= taken[i].first);
  }
}

TEST_CASE("the depth of a queue is exact at its samples, for traces of any length") {
  std::mt19937_64 random(5);
  for (const unsigned bits : {10U, 20U, 40U, 60U}) {
    DepthCounter counter(1000);
    std::vector<std::pair<uint64_t, uint64_t>> work;
    for (int i = 0; i < 300; ++i) {
      const uint64_t start = 1000 + random() % (uint64_t{1} << bits);
      work.emplace_back(start, start + random() % (uint64_t{1} << bits));
      counter.add(work.back().first, work.back().second);
    }
    const auto samples = counter.samples();
    REQUIRE_FALSE(samples.empty());
    CHECK(samples.back().depth == 0);
    for (const auto& sample : samples) {
      const auto depth = std::count_if(work.begin(), work.end(), [&](const auto& w) {
        return w.first <= sample.time_ns && w.second > sample.time_ns;
      });
      CHECK(sample.depth == depth);
    }
  }
}

TEST_CASE("work before the trace counts from the beginning of the trace, and reversed times are fixed") {
  DepthCounter counter(1000);
  counter.add(10, 1500);
  counter.add(2000, 1900);
  const auto samples = counter.samples();
  REQUIRE(samples.size() == 2);
  CHECK(samples[0].time_ns == 1000);
  CHECK(samples[0].depth == 1);
  CHECK(samples[1].time_ns == 1500);
  CHECK(samples[1].depth == 0);
}

TEST_CASE("processes with equal pids, and devices, have distinct track numbers") {
  TrackNumbers numbers;
  std::set<uint64_t> seen;
  for (uint32_t id = 1; id <= 5; ++id) {
    seen.insert(numbers.process(profile::ProcessId{id}, id < 4 ? 77 : 0));
    seen.insert(numbers.device(profile::DeviceId{id}));
  }
  CHECK(seen.size() == 10);
  CHECK(numbers.process(profile::ProcessId{1}, 77) == 77);
  CHECK(numbers.process(profile::ProcessId{2}, 77) != 77);
}

TEST_CASE("recent launches are found by process and correlation id") {
  RecentTable<int> table;
  const profile::ProcessId a{1};
  table.put(a, 5, 50);
  REQUIRE(table.find(a, 5) != nullptr);
  CHECK(*table.find(a, 5) == 50);
  CHECK(table.find(profile::ProcessId{2}, 5) == nullptr);
  CHECK(table.find(a, 6) == nullptr);
  table.erase(a, 5);
  CHECK(table.find(a, 5) == nullptr);
}
