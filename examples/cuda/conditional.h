// Prints which counts a profile must contain per kernel and call site. conditional.cu uses this, and so does the same
// program on the mock driver of the tests.
#pragma once

#include "expect.h"

namespace conditional {

// Iterations of the loop: in a launch by loop_few(), and in a launch by loop_many().
constexpr int kFewTrips = 3;
constexpr int kManyTrips = 5;

// Each site launches its graphs `rounds` times. loop_few and loop_many launch the same two graphs in turn, without
// waiting: one graph is only a loop, the other has a kernel before its loop.
inline void expect_all(long rounds) {
  const long few = rounds * 2 * kFewTrips;
  const long many = rounds * 2 * kManyTrips;
  expect("kernel.looped", few + many);
  expect("kernel.before", 2 * rounds);
  expect("op.copy_htod", 4 * rounds);
  expect("site.loop_few", few + rounds + 2 * rounds);  // kernels in loops, kernels before loops, copies
  expect("site.loop_many", many + rounds + 2 * rounds);
  expect("kernel.chosen", 2 * rounds);  // body of an IF node, launched from two sites
  expect("site.choose_here", rounds);
  expect("site.choose_there", rounds);
  expect("kernel.second_case", rounds);  // body of a SWITCH node
  expect("kernel.first_case", 0);
  expect("site.switch_to_second", rounds);
  expect("launches", 4 * rounds + 4 * rounds + 2 * rounds + rounds);  // loops, their copies, IFs, SWITCHes
  expect("records", few + many + 2 * rounds + 4 * rounds + 2 * rounds + rounds);
}

}  // namespace conditional
