// What is remembered of launches until their GPU work is done.
#include "runtime/launch_notes.h"

#include <thread>
#include <vector>

#include "catch.h"
#include "wire/wire.h"

using gpuprof::injection::find_launch;
using gpuprof::injection::forget_launch;
using gpuprof::injection::kLaunchOutside;
using gpuprof::injection::kLaunchSeveral;
using gpuprof::injection::kLaunchUnsampled;
using gpuprof::injection::LaunchNote;
using gpuprof::injection::remember_launch;
using gpuprof::injection::reset_launches;

namespace {

constexpr uint64_t kSlots = 1U << 18U;

}  // namespace

TEST_CASE("a launch is found again, with all that was noted") {
  reset_launches();
  LaunchNote note = {};
  CHECK_FALSE(find_launch(1, &note));
  REQUIRE(remember_launch(1, {kLaunchUnsampled | kLaunchSeveral, 4711, 0xFFFFFFFF, 0xFFFFFFFE}));
  REQUIRE(find_launch(1, &note));
  CHECK(note.flags == (kLaunchUnsampled | kLaunchSeveral));
  CHECK(note.tid == 4711);
  CHECK(note.range == 0xFFFFFFFF);
  CHECK(note.name == 0xFFFFFFFE);
  CHECK_FALSE(find_launch(2, &note));
  CHECK_FALSE(find_launch(0, &note));
}

TEST_CASE("the launch with id 0 and the highest ids are launches like others") {
  reset_launches();
  LaunchNote note = {};
  for (const uint64_t correlation : {uint64_t{0}, uint64_t{0xFFFFFFFF}, uint64_t{1} << 40U}) {
    CHECK_FALSE(find_launch(correlation, &note));
    REQUIRE(remember_launch(correlation, {kLaunchOutside, 1, 2, 0}));
    CHECK(find_launch(correlation, &note));
  }
}

TEST_CASE("a launch of which only the kernel's name is to be known") {
  reset_launches();
  LaunchNote note = {};
  REQUIRE(remember_launch(7, {0, 1, 0, 33}));
  REQUIRE(find_launch(7, &note));
  CHECK(note.flags == 0);
  CHECK(note.name == 33);
  CHECK_FALSE(find_launch(GPUPROF_CORRELATION_HOST | 7, &note));
}

TEST_CASE("a launch and a wait with the same number are two") {
  reset_launches();
  LaunchNote note = {};
  REQUIRE(remember_launch(9, {kLaunchUnsampled, 1, 0, 0}));
  CHECK_FALSE(find_launch(GPUPROF_CORRELATION_HOST | 9, &note));
  REQUIRE(remember_launch(GPUPROF_CORRELATION_HOST | 9, {kLaunchOutside, 2, 0, 0}));
  REQUIRE(find_launch(9, &note));
  CHECK(note.flags == kLaunchUnsampled);
}

TEST_CASE("a slot that was used again forgets the launch before") {
  reset_launches();
  LaunchNote note = {};
  REQUIRE(remember_launch(5, {kLaunchUnsampled, 1, 0, 0}));
  REQUIRE(remember_launch(5 + kSlots, {kLaunchUnsampled, 2, 0, 0}));
  CHECK_FALSE(find_launch(5, &note));
  REQUIRE(find_launch(5 + kSlots, &note));
  CHECK(note.tid == 2);
}

TEST_CASE("an id that comes round again is forgotten, and only that one") {
  reset_launches();
  LaunchNote note = {};
  REQUIRE(remember_launch(6, {kLaunchUnsampled, 1, 0, 0}));
  forget_launch(6 + kSlots);
  CHECK(find_launch(6, &note));
  forget_launch(6);
  CHECK_FALSE(find_launch(6, &note));
}

TEST_CASE("no launch is taken for another one while slots change hands") {
  reset_launches();
  constexpr uint32_t kRounds = 200000;
  std::vector<std::thread> threads;
  threads.emplace_back([] {
    for (uint32_t i = 0; i < kRounds; ++i) {
      remember_launch(i * kSlots, {kLaunchUnsampled, i, i});  // all in one slot
    }
  });
  uint64_t wrong = 0;
  threads.emplace_back([&wrong] {
    for (uint32_t i = 0; i < kRounds; ++i) {
      LaunchNote note = {};
      if (find_launch(i * kSlots, &note) && note.tid != i) {
        ++wrong;
      }
    }
  });
  for (std::thread& thread : threads) {
    thread.join();
  }
  CHECK(wrong == 0);
}
