// Where a kernel's time went: the call paths below a kernel that is told.
#pragma once

#include <span>
#include <vector>

#include "compare/comparison.h"
#include "compare/judge/judge.h"

namespace gpuprof::compare {

// Those of `lines` (in Comparison::paths, all of one kernel) that are slower by Holm's test, have moved, are new or
// gone, and weigh more than `material_ns`; of a slower kernel the one at least that grew most. What grew most is first.
// `factor`: what the runs have in common; empty: it is not taken out.
std::vector<Finding> judge_paths(const Comparison& runs, std::span<const uint32_t> lines, const Finding& kernel,
                                 std::span<const double> factor, const JudgeOptions& options, double material_ns);

}  // namespace gpuprof::compare
