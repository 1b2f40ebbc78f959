// The cost of a comparison line on each side, and the reasons for its change.
#pragma once

#include <cstdint>
#include <vector>

#include "compare/comparison.h"

namespace gpuprof::compare {

// Summary of the runs of one side. Without times, the measured value is the number of launches.
struct SideCost {
  uint64_t value = 0;  // mean per run: ns, or launches if nothing was timed
  uint64_t least = 0;
  uint64_t most = 0;
  double count = 0;    // mean number of launches per run
  double mean_ns = 0;  // mean time per launch; 0 if nothing was timed
};

// change = by_launches + by_duration. For one line, by_launches = (n2 - n1) * mean1, and by_duration = n2 * (mean2 -
// mean1). n is the number of launches and mean the time per launch; 1 is the old side and 2 the new side. If only one
// side has the line, by_launches is the complete change. A line that stands for several paths has the sums of theirs.
struct Difference {
  SideCost before;
  SideCost after;
  int64_t change = 0;
  int64_t by_launches = 0;
  int64_t by_duration = 0;

  [[nodiscard]] double percent() const;  // change in percent of `before`; returns 0 if `before` is 0
};

Difference difference_of(const std::vector<Cost>& costs, size_t old_runs, bool timed);

// Sets both components of the change: `by_launches`, and the rest.
void split_change(Difference& line, int64_t by_launches);

// Splits the change of a line that only the new side has, as if its launches had taken `old_mean_ns` before.
void compare_new_line(Difference& line, double old_mean_ns);

}  // namespace gpuprof::compare
