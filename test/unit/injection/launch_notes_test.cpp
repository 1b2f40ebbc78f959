#include "runtime/launch_notes.h"

#include <thread>
#include <vector>

#include "catch.h"
#include "wire/wire.h"

using gpuprof::injection::find_launch;
using gpuprof::injection::forget_launch;
using gpuprof::injection::kLaunchOutside;
using gpuprof::injection::kLaunchSeveral;
using gpuprof::injection::LaunchNote;
using gpuprof::injection::remember_launch;
using gpuprof::injection::reset_launches;

namespace {

constexpr uint64_t kSlots = 1U << 18U;

}  // namespace

TEST_CASE("a launch is found with all of its notes") {
  reset_launches();
  LaunchNote note = {};
  CHECK_FALSE(find_launch(1, &note));
  REQUIRE(remember_launch(1, {kLaunchOutside | kLaunchSeveral, 0xFFFFFFFE}));
  REQUIRE(find_launch(1, &note));
  CHECK(note.flags == (kLaunchOutside | kLaunchSeveral));
  CHECK(note.name == 0xFFFFFFFE);
  CHECK_FALSE(find_launch(2, &note));
  CHECK_FALSE(find_launch(0, &note));
}

TEST_CASE("launches with id 0 and with the highest ids are found") {
  reset_launches();
  LaunchNote note = {};
  for (const uint64_t correlation : {uint64_t{0}, uint64_t{0xFFFFFFFF}, uint64_t{1} << 40U}) {
    CHECK_FALSE(find_launch(correlation, &note));
    REQUIRE(remember_launch(correlation, {kLaunchOutside, 1}));
    CHECK(find_launch(correlation, &note));
  }
}

TEST_CASE("a launch is remembered if only its kernel name is needed") {
  reset_launches();
  LaunchNote note = {};
  REQUIRE(remember_launch(7, {0, 33}));
  REQUIRE(find_launch(7, &note));
  CHECK(note.flags == 0);
  CHECK(note.name == 33);
  CHECK_FALSE(find_launch(GPUPROF_CORRELATION_HOST | 7, &note));
}

TEST_CASE("a launch and a wait with the same number are distinct") {
  reset_launches();
  LaunchNote note = {};
  REQUIRE(remember_launch(9, {kLaunchOutside, 1}));
  CHECK_FALSE(find_launch(GPUPROF_CORRELATION_HOST | 9, &note));
  REQUIRE(remember_launch(GPUPROF_CORRELATION_HOST | 9, {kLaunchOutside, 2}));
  REQUIRE(find_launch(9, &note));
  CHECK(note.flags == kLaunchOutside);
}

TEST_CASE("reusing a slot forgets the earlier launch in it") {
  reset_launches();
  LaunchNote note = {};
  REQUIRE(remember_launch(5, {kLaunchOutside, 1}));
  REQUIRE(remember_launch(5 + kSlots, {kLaunchOutside, 2}));
  CHECK_FALSE(find_launch(5, &note));
  REQUIRE(find_launch(5 + kSlots, &note));
  CHECK(note.name == 2);
}

TEST_CASE("forgetting a launch keeps other launches of the same slot") {
  reset_launches();
  LaunchNote note = {};
  REQUIRE(remember_launch(6, {kLaunchOutside, 1}));
  forget_launch(6 + kSlots);
  CHECK(find_launch(6, &note));
  forget_launch(6);
  CHECK_FALSE(find_launch(6, &note));
}

TEST_CASE("launches in a contended slot are never mixed up") {
  reset_launches();
  constexpr uint32_t kRounds = 200000;
  std::vector<std::thread> threads;
  threads.emplace_back([] {
    for (uint32_t i = 0; i < kRounds; ++i) {
      remember_launch(i * kSlots, {kLaunchOutside, i});  // all keys map to one slot
    }
  });
  uint64_t wrong = 0;
  threads.emplace_back([&wrong] {
    for (uint32_t i = 0; i < kRounds; ++i) {
      LaunchNote note = {};
      if (find_launch(i * kSlots, &note) && note.name != i) {
        ++wrong;
      }
    }
  });
  for (std::thread& thread : threads) {
    thread.join();
  }
  CHECK(wrong == 0);
}
