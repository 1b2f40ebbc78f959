// What kernels waited for, on both sides of a comparison. Evidence for what has changed, never a verdict.
#pragma once

#include <cstdint>
#include <vector>

#include "analyze/stalls/stall_slices.h"
#include "compare/comparison.h"

namespace gpuprof::compare {

// A reason's part of a kernel's samples on both sides, 0 to 1.
struct StallShare {
  struct Side {
    uint64_t samples = 0;
    double share = 0;
    analyze::Interval interval;  // of 95%, as `report` has it: widened by the spread between slices, and between runs
  };

  uint32_t reason = 0;  // in Comparison::stall_reasons
  Side before;
  Side after;
  // The intervals are apart, and the shares by a hundredth of the samples or more: less explains nothing.
  bool changed = false;
};

// All reasons of a kernel, those whose share changed first, then the others, by the difference. Empty where one side
// has no samples of it.
std::vector<StallShare> stall_shares(const KernelLine& kernel);

}  // namespace gpuprof::compare
