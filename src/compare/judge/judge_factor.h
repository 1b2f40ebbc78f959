// Checks whether the common factor of all kernels may hide a slowdown of most of them.
#pragma once

#include <span>
#include <string>

#include "compare/judge/judge.h"
#include "compare/judge/tested_line.h"

namespace gpuprof::compare {

// Returns why the common factor may be a real slowdown, or "" if it is harmless. `factor` is the logarithm, for each
// run, of the factor that was removed from the times of `kernels`. It is the median over the kernels, so it is also
// high if most kernels are really slower.
std::string suspicious_factor(std::span<const TestedLine> kernels, std::span<const double> factor, size_t old_runs,
                              const JudgeOptions& options);

}  // namespace gpuprof::compare
