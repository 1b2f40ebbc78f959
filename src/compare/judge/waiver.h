// Applies waivers: changes that the user's thresholds allow.
#pragma once

#include <span>

#include "compare/comparison.h"
#include "compare/judge/judge.h"
#include "compare/judge/tested_line.h"

namespace gpuprof::compare {

// Waives a slower kernel if its own name may be that much slower, or if the growth is in paths that may grow. `paths`
// are the indexes of the kernel's paths.
void waive_kernel(const Comparison& runs, std::span<const uint32_t> paths, const JudgeOptions& options,
                  double material_ns, Finding& kernel);

// Adds a note to a new kernel if the kernel's threshold allows its time as a share of `total_ns`, the old total. The
// finding's verdict does not change.
void waive_appeared(const Comparison& runs, const JudgeOptions& options, double total_ns, Finding& kernel);

// Waives a slower total if kTotal allows it, or if only `excused` findings make it slower. `factor` may be empty.
void waive_total(const Comparison& runs, std::span<const Finding* const> excused, std::span<const double> factor,
                 const JudgeOptions& options, double material_ns, Finding& total);

}  // namespace gpuprof::compare
