// Compares what a kernel waited for on both sides. This is evidence for what has changed, but does not affect verdicts.
#pragma once

#include <cstdint>
#include <vector>

#include "analyze/stalls/stall_slices.h"
#include "compare/comparison.h"

namespace gpuprof::compare {

// The share of a stall reason in a kernel's samples on each side, 0 to 1.
struct StallShare {
  struct Side {
    uint64_t samples = 0;
    double share = 0;
    analyze::Interval interval;  // 95% confidence interval; wider if the share varies over time or between runs
  };

  uint32_t reason = 0;  // index into Comparison::stall_reasons
  Side before;
  Side after;
  // True if the intervals do not overlap and the shares differ by at least 0.01. Smaller changes explain nothing.
  bool changed = false;
};

// Returns all reasons of the kernel, changed ones first, then by difference. Empty if a side has no samples.
std::vector<StallShare> stall_shares(const KernelLine& kernel);

}  // namespace gpuprof::compare
