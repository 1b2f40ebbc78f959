// Prints which counts a profile must contain for each kernel and call site. conditional.cu uses this file. So does the
// same program on the tests' mock driver.
#pragma once

#include "expect.h"

namespace conditional {

// Number of iterations of the loop in a launch by loop_few(), and in a launch by loop_many().
constexpr int kFewTrips = 3;
constexpr int kManyTrips = 5;

// Each site launches its graphs `rounds` times. loop_few() and loop_many() launch the same two graphs alternately,
// without waiting. One graph is only a loop; the other has a kernel before its loop.
inline void expect_all(long rounds) {
  const long few = rounds * 2 * kFewTrips;
  const long many = rounds * 2 * kManyTrips;
  expect("kernel.looped", few + many);
  expect("kernel.before", 2 * rounds);
  expect("op.copy_htod", 4 * rounds);
  expect("site.loop_few", few + rounds + 2 * rounds);  // kernels in the loops, kernels before the loops, and copies
  expect("site.loop_many", many + rounds + 2 * rounds);
  expect("kernel.chosen", 2 * rounds);  // the body of an IF node; two sites launch the graph
  expect("site.choose_here", rounds);
  expect("site.choose_there", rounds);
  expect("kernel.second_case", rounds);
  expect("kernel.first_case", 0);
  expect("site.switch_to_second", rounds);
  // Launches of loops, their copies, IF nodes and SWITCH nodes.
  expect("launches", 4 * rounds + 4 * rounds + 2 * rounds + rounds);
  expect("records", few + many + 2 * rounds + 4 * rounds + 2 * rounds + rounds);
}

}  // namespace conditional
