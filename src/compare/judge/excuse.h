// What the users' thresholds let pass.
#pragma once

#include <span>

#include "compare/comparison.h"
#include "compare/judge/judge.h"
#include "compare/judge/tested.h"

namespace gpuprof::compare {

// A slower kernel is excused by its own name, or where what it grew by is in paths that may grow. `paths`: the lines of
// its paths.
void excuse_kernel(const Comparison& runs, std::span<const uint32_t> paths, const JudgeOptions& options,
                   double material_ns, Finding& kernel);

// A new kernel is excused by its own name, where it takes no more than that share of `total_ns`, the total before. It
// keeps its verdict and gets a note.
void excuse_appeared(const Comparison& runs, const JudgeOptions& options, double total_ns, Finding& kernel);

// A slower total, with or without the runs' common factor, is excused by kTotal, or where it is not slower without the
// kernels that are `excused`.
void excuse_total(const Comparison& runs, std::span<const Finding* const> excused, std::span<const double> factor,
                  const JudgeOptions& options, double material_ns, Finding& total);

}  // namespace gpuprof::compare
