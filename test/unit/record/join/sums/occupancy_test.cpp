#include "record/join/sums/occupancy.h"

#include <algorithm>
#include <map>
#include <random>
#include <vector>

#include "catch.h"

namespace {

using gpuprof::record::Occupancy;
using gpuprof::record::Windows;

// A base class that holds the windows, because they must be constructed before Occupancy.
struct OwnWindows {
  Windows windows;
};
struct Recorded : OwnWindows, Occupancy {
  Recorded(uint64_t start_ns, const gpuprof::profile::SliceGrid& grid) : Occupancy(windows, start_ns, grid) {}
  Recorded(uint64_t start_ns, uint64_t interval_ns, uint64_t sampled_gap_ns = 0)
      : Occupancy(windows, start_ns, {.interval_ns = interval_ns}, sampled_gap_ns) {}
};

struct Sums {
  std::map<uint32_t, uint64_t> busy;                       // keyed by work
  std::map<uint32_t, uint64_t> exclusive;                  // keyed by work
  std::map<std::pair<uint32_t, uint32_t>, uint64_t> idle;  // keyed by device and work
  std::map<uint64_t, uint64_t> all;                        // busy and idle, keyed by slice
};

void collect(Occupancy& occupancy, Sums& sums) {
  for (const auto& [key, share] : occupancy.take_shares()) {
    sums.busy[key.work] += share.busy_ns;
    sums.exclusive[key.work] += share.exclusive_ns;
    sums.all[key.slice] += share.busy_ns;
  }
  for (const auto& [key, ns] : occupancy.take_idle()) {
    sums.idle[{key.device, key.work}] += ns;
    sums.all[key.slice] += ns;
  }
}

Sums finish_occupancy(Recorded& occupancy, uint64_t end) {
  occupancy.windows.close(end);
  occupancy.finish();
  Sums sums;
  collect(occupancy, sums);
  return sums;
}

}  // namespace

TEST_CASE("concurrent work shares the exclusive time, and the first gets the busy time") {
  Recorded occupancy(1000, 1'000'000);
  occupancy.windows.open(1000);
  occupancy.add(1, 10, 0, 1100, 1400);
  occupancy.add(1, 20, 0, 1200, 1301);  // both work items ran for 101 ns: one of them gets the odd ns
  const Sums sums = finish_occupancy(occupancy, 2000);
  REQUIRE(sums.busy.at(10) == 300);
  REQUIRE(sums.busy.at(20) == 0);
  REQUIRE(sums.exclusive.at(10) == 100 + 51 + 99);
  REQUIRE(sums.exclusive.at(20) == 50);
  REQUIRE(sums.idle.at({1, 10}) == 100);
  REQUIRE(sums.idle.at({1, 0}) == 600);
}

TEST_CASE("idle time belongs to the blocking call of the next launch's thread, or else to that launch") {
  Recorded occupancy(0, 1'000'000);
  occupancy.windows.open(0);
  occupancy.add(1, 10, 7, 100, 200);
  occupancy.blocked(7, 99, 150, 320);
  occupancy.blocked(7, 98, 350, 360);
  occupancy.blocked(8, 97, 0, 1000);  // another thread waits
  occupancy.add(1, 11, 7, 400, 500);
  const Sums sums = finish_occupancy(occupancy, 500);
  REQUIRE(sums.idle.at({1, 10}) == 100);
  REQUIRE(sums.idle.at({1, 99}) == 120);
  REQUIRE(sums.idle.at({1, 98}) == 10);
  REQUIRE(sums.idle.at({1, 11}) == 30 + 40);
  REQUIRE(sums.idle.size() == 4);
}

TEST_CASE("idle time belongs first to what the thread computed, then to its calls, then to other reasons") {
  Recorded occupancy(0, 1'000'000);
  occupancy.windows.open(0);
  occupancy.add(1, 10, 7, 0, 100, 50);
  occupancy.blocked(7, 30, 120, 380, Occupancy::Did::off_cpu);
  occupancy.blocked(7, 20, 200, 300, Occupancy::Did::call);
  occupancy.blocked(7, 41, 210, 220, Occupancy::Did::compute);
  occupancy.blocked(7, 40, 110, 130, Occupancy::Did::compute);  // arrives late
  occupancy.blocked(7, 42, 290, 310, Occupancy::Did::compute);
  occupancy.add(1, 11, 7, 400, 500, 51);
  const Sums sums = finish_occupancy(occupancy, 500);
  REQUIRE(sums.idle.at({1, 40}) == 20);
  REQUIRE(sums.idle.at({1, 41}) == 10);
  REQUIRE(sums.idle.at({1, 42}) == 20);
  REQUIRE(sums.idle.at({1, 20}) == 10 + 70);
  REQUIRE(sums.idle.at({1, 30}) == 70 + 70);
  REQUIRE(sums.idle.at({1, 51}) == 10 + 20);  // nothing explains it
  REQUIRE(sums.idle.size() == 6);
}

TEST_CASE("outside of exact times off a CPU and of calls, a thread is on a CPU, however short the gap is") {
  Recorded occupancy(0, 1'000'000, 10'000);
  occupancy.windows.open(0);
  occupancy.set_exact(7, 60, 50);
  occupancy.add(1, 10, 7, 0, 100, 50);
  occupancy.blocked(7, 30, 120, 300, Occupancy::Did::off_cpu);
  occupancy.blocked(7, 20, 200, 310, Occupancy::Did::call);
  occupancy.blocked(7, 40, 50, 110, Occupancy::Did::compute);   // in the gap, 60 ns of CPU time
  occupancy.blocked(7, 41, 300, 320, Occupancy::Did::compute);  // in the gap, 20 ns of CPU time
  occupancy.blocked(7, 42, 350, 450, Occupancy::Did::compute);  // its moment is not in the gap
  occupancy.add(1, 11, 7, 400, 500, 51);
  const Sums sums = finish_occupancy(occupancy, 500);
  REQUIRE(sums.idle == std::map<std::pair<uint32_t, uint32_t>, uint64_t>{
                           {{1, 20}, 110}, {{1, 30}, 80}, {{1, 40}, 83}, {{1, 41}, 27}});
}

TEST_CASE("a thread on a CPU without samples has no stack, and time before exact times has samples only") {
  Recorded occupancy(0, 1'000'000, 10'000);
  occupancy.windows.open(0);
  occupancy.add(1, 10, 7, 0, 100, 50);
  occupancy.set_exact(7, 60, 150);
  occupancy.blocked(7, 40, 90, 120, Occupancy::Did::compute);
  occupancy.add(1, 11, 7, 200, 300, 51);
  occupancy.advance(300);
  occupancy.lose_exact(350);
  occupancy.add(1, 12, 7, 400, 500, 52);
  const Sums sums = finish_occupancy(occupancy, 500);
  REQUIRE(sums.idle == std::map<std::pair<uint32_t, uint32_t>, uint64_t>{
                           {{1, 40}, 20}, {{1, 51}, 30}, {{1, 52}, 50}, {{1, 60}, 50 + 50}});
}

TEST_CASE("a call that does not wait for the device explains idle time before samples do, also in short gaps") {
  Recorded occupancy(0, 1'000'000, 150);
  occupancy.windows.open(0);
  occupancy.add(1, 10, 7, 0, 100, 50);
  occupancy.blocked(7, 40, 110, 190, Occupancy::Did::compute);
  occupancy.blocked(7, 25, 120, 180, Occupancy::Did::work_in_call);
  occupancy.add(1, 11, 7, 300, 400, 51);  // after a gap of 200 ns
  occupancy.blocked(7, 41, 400, 500, Occupancy::Did::compute);
  occupancy.blocked(7, 26, 420, 440, Occupancy::Did::work_in_call);
  occupancy.blocked(7, 20, 430, 470, Occupancy::Did::call);
  occupancy.add(1, 12, 7, 500, 600, 52);  // after a gap of 100 ns
  const Sums sums = finish_occupancy(occupancy, 600);
  REQUIRE(sums.idle.at({1, 25}) == 60);
  REQUIRE(sums.idle.at({1, 40}) == 20);
  REQUIRE(sums.idle.at({1, 51}) == 120);
  REQUIRE(sums.idle.at({1, 26}) == 20);
  REQUIRE(sums.idle.at({1, 20}) == 30);
  REQUIRE(sums.idle.at({1, 52}) == 50);
  REQUIRE(sums.idle.size() == 6);
}

TEST_CASE("a time with a limit explains only so much of the time that nothing else explains") {
  Recorded occupancy(0, 1'000'000);
  occupancy.windows.open(0);
  occupancy.add(1, 10, 7, 0, 100, 50);
  occupancy.blocked(7, 30, 100, 200, Occupancy::Did::off_cpu, 30);
  occupancy.blocked(7, 31, 100, 200, Occupancy::Did::off_cpu, 20);
  occupancy.blocked(7, 30, 200, 300, Occupancy::Did::off_cpu, 100);
  occupancy.blocked(7, 40, 120, 170, Occupancy::Did::compute);  // leaves 20 and 30 ns of the first interval
  occupancy.add(1, 11, 7, 150, 151, 51);                        // the time before it has the first 20 ns
  occupancy.add(1, 12, 7, 300, 400, 52);
  const Sums sums = finish_occupancy(occupancy, 400);
  REQUIRE(sums.idle.at({1, 40}) == 30 + 19);
  REQUIRE(sums.idle.at({1, 30}) == 30 + 100);
  REQUIRE(sums.idle.at({1, 31}) == 20);
  REQUIRE(sums.idle.size() == 3);
}

TEST_CASE("samples and polled states explain no gap that is shorter than the limit") {
  Recorded occupancy(0, 1'000'000, 100);
  occupancy.windows.open(0);
  occupancy.add(1, 10, 7, 0, 100, 50);
  occupancy.blocked(7, 40, 90, 160, Occupancy::Did::compute);
  occupancy.blocked(7, 20, 150, 170, Occupancy::Did::call);
  occupancy.blocked(7, 30, 90, 199, Occupancy::Did::off_cpu);
  occupancy.add(1, 11, 7, 199, 200, 51);  // after a gap of 99 ns
  occupancy.blocked(7, 41, 200, 260, Occupancy::Did::compute);
  occupancy.blocked(7, 31, 200, 300, Occupancy::Did::off_cpu);
  occupancy.add(1, 12, 7, 300, 400, 52);  // after a gap of 100 ns
  const Sums sums = finish_occupancy(occupancy, 400);
  REQUIRE(sums.idle.at({1, 20}) == 20);
  REQUIRE(sums.idle.at({1, 51}) == 79);
  REQUIRE(sums.idle.at({1, 41}) == 60);
  REQUIRE(sums.idle.at({1, 31}) == 40);
  REQUIRE(sums.idle.size() == 4);
}

TEST_CASE("time outside of the windows is neither busy nor idle") {
  Recorded occupancy(0, 1'000'000);
  occupancy.windows.open(100);
  occupancy.windows.close(200);
  occupancy.windows.open(300);
  occupancy.add(1, 10, 0, 150, 350);
  occupancy.add(1, 11, 0, 380, 420);
  const Sums sums = finish_occupancy(occupancy, 400);
  REQUIRE(sums.busy.at(10) == 50 + 50);
  REQUIRE(sums.busy.at(11) == 20);
  REQUIRE(sums.idle.at({1, 10}) == 50);
  REQUIRE(sums.idle.at({1, 11}) == 30);
  REQUIRE(sums.idle.size() == 2);
}

TEST_CASE("late work is counted and does not change time already charged") {
  Recorded occupancy(0, 1'000'000);
  occupancy.windows.open(0);
  occupancy.add(1, 10, 0, 100, 200);
  occupancy.add(1, 11, 0, 300, 400);
  occupancy.advance(1000);
  occupancy.add(1, 12, 0, 150, 450);  // 50 ns are still unassigned, as nothing has ended the idle time after 400
  const Sums sums = finish_occupancy(occupancy, 500);
  REQUIRE(occupancy.late_ns() == 250);
  REQUIRE(sums.busy.at(12) == 50);
  REQUIRE(sums.idle.at({1, 0}) == 50);
}

// Each nanosecond of a device that has work is assigned exactly once, in whatever order the events arrive.
TEST_CASE("busy and idle time add up to the windows exactly") {
  std::mt19937_64 random(20261121);
  const auto below = [&](uint64_t limit) { return random() % limit; };
  for (int round = 0; round < 300; ++round) {
    constexpr uint64_t kSlice = 300;
    gpuprof::profile::SliceGrid grid{.interval_ns = kSlice};
    if (round % 2 == 0) {  // slices become longer during the recording
      grid.first_long = 8;
      grid.long_width = 4;
    }
    Recorded occupancy(1000, grid);
    uint64_t windows = 0;
    uint64_t at = 1000 + below(500);
    Sums sums;
    uint64_t window_begin = at;
    occupancy.windows.open(at);
    const uint64_t devices = 1 + below(3);
    uint64_t used = 0;
    std::vector<bool> had_work(devices, false);
    for (int step = 0; step < 60; ++step) {
      const uint64_t kind = below(20);
      if (kind == 0) {
        at += below(300);
        occupancy.windows.close(at);
        windows += at - window_begin;
        at += below(300);
        occupancy.windows.open(at);
        window_begin = at;
      } else if (kind < 4) {
        const auto did = static_cast<Occupancy::Did>(below(3));
        const uint64_t start = at - std::min<uint64_t>(at, below(50));
        occupancy.blocked(1 + below(3), 500 + static_cast<uint32_t>(below(5)), start, start + below(100), did,
                          below(2) == 0 ? UINT64_MAX : below(100));
      } else if (kind < 8) {
        occupancy.advance(at - std::min<uint64_t>(at, below(400)));
        collect(occupancy, sums);
      } else {
        const uint64_t device = below(devices);
        had_work[device] = true;
        const uint64_t start = at - std::min<uint64_t>(at, below(600));
        occupancy.add(static_cast<uint32_t>(device), 1 + static_cast<uint32_t>(below(9)), 1 + below(3), start,
                      start + below(700));
        at += below(100);
      }
    }
    at += below(500);
    windows += at - window_begin;
    occupancy.windows.close(at);
    occupancy.finish();
    collect(occupancy, sums);
    REQUIRE(occupancy.pending() == 0);
    uint64_t busy = 0;
    uint64_t exclusive = 0;
    uint64_t idle = 0;
    for (const auto& [work, ns] : sums.busy) {
      busy += ns;
    }
    for (const auto& [work, ns] : sums.exclusive) {
      exclusive += ns;
    }
    for (const auto& [key, ns] : sums.idle) {
      idle += ns;
    }
    used = static_cast<uint64_t>(std::count(had_work.begin(), had_work.end(), true));
    REQUIRE(busy == exclusive);
    REQUIRE(busy + idle == windows * used);
    for (const auto& [slice, ns] : sums.all) {
      const uint64_t begin = 1000 + slice * kSlice;
      REQUIRE(slice % grid.width(slice) == 0);
      REQUIRE(ns == used * occupancy.windows.recorded(begin, begin + grid.width(slice) * kSlice));
    }
  }
}

TEST_CASE("pending work reaches its limit only if the sweep is never advanced") {
  Recorded occupancy(0, 1'000'000'000);
  occupancy.windows.open(0);
  size_t most = 0;
  for (uint64_t i = 0; i < 2'500'000; ++i) {
    occupancy.add(1, 1, 0, i * 10, i * 10 + 6);
    most = std::max(most, i % 1000 == 0 ? occupancy.pending() : 0);
  }
  REQUIRE(most <= 1'000'001);
  const Sums sums = finish_occupancy(occupancy, 25'000'000);
  REQUIRE(sums.busy.at(1) == 2'500'000 * 6);
  REQUIRE(sums.idle.at({1, 1}) + sums.idle.at({1, 0}) == 2'500'000 * 4);
}

TEST_CASE("threads that start and end all day do not block the calls of later threads") {
  Recorded occupancy(0, 1'000'000'000);
  occupancy.windows.open(0);
  constexpr uint64_t kThreads = 100'000;
  for (uint64_t i = 0; i < kThreads; ++i) {
    occupancy.blocked(i + 1, 5, i * 10, i * 10 + 5);
  }
  occupancy.blocked(kThreads, 6, kThreads * 10, kThreads * 10 + 60);
  occupancy.add(1, 7, kThreads, kThreads * 10 + 100, kThreads * 10 + 200);
  const Sums sums = finish_occupancy(occupancy, kThreads * 10 + 200);
  REQUIRE(sums.idle.at({1, 6}) == 60);
}

TEST_CASE("samples of threads that never launch do not push out those of a thread that does") {
  constexpr uint64_t kGap = 1'000;
  Recorded occupancy(0, 1'000'000'000, kGap);
  occupancy.windows.open(0);
  occupancy.add(1, 7, 1, 0, 100);
  for (uint64_t i = 1; i < 50; ++i) {
    occupancy.polled(1, {i * 1000, 4, true, 0});
    occupancy.blocked(1, 6, (i - 1) * 1000 + 100, i * 1000, Occupancy::Did::compute);
  }
  for (uint64_t i = 0; i < 1'200'000; ++i) {
    occupancy.blocked(2 + i % 100, 5, 50'000 + i, 50'001 + i, Occupancy::Did::compute);
  }
  occupancy.add(1, 7, 1, 50'000, 60'000, 9);
  const Sums sums = finish_occupancy(occupancy, 60'000);
  REQUIRE(sums.idle.at({1, 6}) > 40'000);
}

TEST_CASE("more concurrent work than a device can run is late, and the sums stay exact") {
  Recorded occupancy(0, 1'000'000'000);
  occupancy.windows.open(0);
  constexpr uint64_t kAtOnce = 2000;
  for (uint64_t i = 0; i < kAtOnce; ++i) {
    occupancy.add(1, 7, 0, 100 + i, 1'000'000);
  }
  const Sums sums = finish_occupancy(occupancy, 2'000'000);
  REQUIRE(occupancy.late_ns() > 0);
  REQUIRE(sums.busy.at(7) == 1'000'000 - 100);
  REQUIRE(sums.exclusive.at(7) == sums.busy.at(7));
  REQUIRE(sums.idle.at({1, 7}) + sums.idle.at({1, 0}) == 1'000'100);
}

TEST_CASE("idle time is split into at most a million slices") {
  const auto slices = [](uint64_t end) {
    Recorded occupancy(0, 10);
    occupancy.windows.open(0);
    occupancy.add(1, 5, 0, 0, 10);
    const Sums sums = finish_occupancy(occupancy, end);
    REQUIRE(sums.idle.at({1, 0}) == end - 10);
    return sums.all.size();
  };
  REQUIRE(slices(10'000'000) == 1'000'000);
  REQUIRE(slices(UINT64_MAX - 1) == 2);
}
