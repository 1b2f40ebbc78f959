// What a line of a comparison costs on each side, and what its change is made of.
#pragma once

#include <cstdint>
#include <vector>

#include "compare/comparison.h"

namespace gpuprof::compare {

// Of the runs of one side. In a comparison of counts, what is measured is the count.
struct SideCost {
  uint64_t value = 0;  // mean of a run: ns, or launches where nothing was timed
  uint64_t least = 0;  // of its runs
  uint64_t most = 0;
  double count = 0;    // launches; mean of a run
  double mean_ns = 0;  // of one launch; 0 where nothing was timed
};

// change == by_launches + by_duration, exactly: (n2 - n1) * mean1 and n2 * (mean2 - mean1). All of what is on one side
// only is by launches.
struct Difference {
  SideCost before;
  SideCost after;
  int64_t change = 0;
  int64_t by_launches = 0;
  int64_t by_duration = 0;

  [[nodiscard]] double percent() const;  // of `before`; 0 where that is 0
};

Difference difference_of(const std::vector<Cost>& costs, size_t old_runs, bool timed);

}  // namespace gpuprof::compare
