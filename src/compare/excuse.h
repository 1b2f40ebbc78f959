// What the users' thresholds let pass.
#pragma once

#include <span>

#include "compare/comparison.h"
#include "compare/judge.h"
#include "compare/tested.h"

namespace gpuprof::compare {

// A slower kernel is excused by its own name, or where what it grew by is in paths that may grow. `paths`: the lines of
// its paths.
void excuse_kernel(const Comparison& runs, std::span<const uint32_t> paths, const JudgeOptions& options,
                   double material_ns, Finding& kernel);

// A slower total is excused by kTotal, or where it is not slower without the excused ones of `kernels`.
void excuse_total(const Comparison& runs, std::span<const Tested> kernels, const JudgeOptions& options,
                  double material_ns, Finding& total);

}  // namespace gpuprof::compare
