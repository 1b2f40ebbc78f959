// Finds the call paths that explain the change of a kernel.
#pragma once

#include <span>
#include <vector>

#include "compare/comparison.h"
#include "compare/judge/judge.h"

namespace gpuprof::compare {

// Returns the paths of a kernel that are slower (by Holm's test), moved, new or gone. Leaves out paths that cost at
// most `material_ns` on both sides. For a slower kernel, returns at least the path that grew most. Sorts by growth,
// greatest first. `lines` are the kernel's paths, as indexes into Comparison::paths. `factor` is the common factor to
// remove; may be empty.
std::vector<Finding> judge_paths(const Comparison& runs, std::span<const uint32_t> lines, const Finding& kernel,
                                 std::span<const double> factor, const JudgeOptions& options, double material_ns);

}  // namespace gpuprof::compare
