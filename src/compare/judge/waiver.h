// Applies waivers: changes that the user's thresholds allow.
#pragma once

#include <span>

#include "compare/comparison.h"
#include "compare/judge/judge.h"
#include "compare/judge/tested_line.h"

namespace gpuprof::compare {

// Waives a slower kernel if a threshold for its name allows the slowdown, or if thresholds allow the growth of the
// paths that caused it. `paths` are the indexes of the kernel's paths.
void waive_kernel(const Comparison& runs, std::span<const uint32_t> paths, const JudgeOptions& options,
                  double material_ns, Finding& kernel);

// Adds a note to a new kernel if its time, in percent of `total_ns` (the old total), is at most what the kernel's
// threshold allows. Does not change the verdict.
void waive_appeared(const Comparison& runs, const JudgeOptions& options, double total_ns, Finding& kernel);

// Waives a slower total if a threshold for kTotal allows it, or if the total without the kernels in `excused`, which
// are already waived, is not slower. `factor` is the logarithm, for each run, of the common factor to remove; may be
// empty.
void waive_total(const Comparison& runs, std::span<const Finding* const> excused, std::span<const double> factor,
                 const JudgeOptions& options, double material_ns, Finding& total);

}  // namespace gpuprof::compare
