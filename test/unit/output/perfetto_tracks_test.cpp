// In a Perfetto track, the end of a slice has no name and ends the innermost slice. These tests follow that rule.
#include "output/export/perfetto_tracks.h"

#include <algorithm>
#include <cstdint>
#include <random>
#include <utility>
#include <vector>

#include "catch.h"

using gpuprof::output::perfetto::NestingLane;

namespace {

using Slice = std::pair<uint64_t, uint64_t>;  // start and end

// Returns whether a viewer ends each slice at the slice's own end. Events with equal times are in file order.
bool each_ends_in_time(const std::vector<Slice>& slices) {
  struct Event {
    uint64_t ns;
    size_t slice;
    bool begins;
  };
  std::vector<Event> events;
  for (size_t i = 0; i < slices.size(); ++i) {
    events.push_back({slices[i].first, i, true});
    events.push_back({slices[i].second, i, false});
  }
  std::stable_sort(events.begin(), events.end(), [](const Event& a, const Event& b) { return a.ns < b.ns; });
  std::vector<size_t> open;
  for (const Event& event : events) {
    if (event.begins) {
      open.push_back(event.slice);
    } else if (open.empty() || slices[open.back()].second != event.ns) {
      return false;
    } else {
      open.pop_back();
    }
  }
  return open.empty();
}

std::vector<Slice> taken(const std::vector<Slice>& slices) {
  NestingLane lane;
  std::vector<Slice> kept;
  std::copy_if(slices.begin(), slices.end(), std::back_inserter(kept),
               [&lane](const Slice& slice) { return lane.take(slice.first, slice.second); });
  return kept;
}

}  // namespace

TEST_CASE("slices with equal starts that overlap another slice are rejected by the lane") {
  const std::vector<Slice> nested{{0, 100}, {0, 100}, {0, 30}, {10, 20}, {10, 10}, {40, 60}, {60, 100}};
  CHECK(taken(nested) == nested);
  // The last slice is inside of the first, which has the same start, but overlaps the second.
  CHECK(taken({{0, 100}, {10, 50}, {0, 30}}) == std::vector<Slice>{{0, 100}, {10, 50}});
  // The last slice overlaps the second, which is the shorter one of two with the same start.
  CHECK(taken({{0, 100}, {0, 30}, {10, 50}}) == std::vector<Slice>{{0, 100}, {0, 30}});
  // The last slice has the same start as a shorter one before it. The shorter one's end would end the last slice.
  CHECK(taken({{0, 100}, {0, 30}, {0, 50}}) == std::vector<Slice>{{0, 100}, {0, 30}});
  CHECK(taken({{UINT64_MAX, UINT64_MAX}, {0, UINT64_MAX}}) == std::vector<Slice>{{UINT64_MAX, UINT64_MAX}});
}

TEST_CASE("a lane's slices nest for random input") {
  std::mt19937 random(1);  // NOLINT(cert-msc32-c,cert-msc51-cpp): the same in each run
  size_t kept = 0;
  for (int round = 0; round < 20'000; ++round) {
    const uint64_t times = 2 + random() % 12;
    std::vector<Slice> slices(1 + random() % 12);
    for (Slice& slice : slices) {
      slice.first = random() % times;
      slice.second = slice.first + random() % times;
    }
    const std::vector<Slice> lane = taken(slices);
    kept += lane.size();
    INFO("round " << round);
    REQUIRE(each_ends_in_time(lane));
    REQUIRE(!lane.empty());
  }
  CHECK(kept > 40'000);  // the lane must not reject everything
}
