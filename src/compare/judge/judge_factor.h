// Whether what all kernels have in common may be a slowdown of most of them.
#pragma once

#include <span>
#include <string>

#include "compare/judge/judge.h"
#include "compare/judge/tested.h"

namespace gpuprof::compare {

// Why `factor`, the logarithm for each run of what was taken out of `kernels`, is no matter of course; empty: nothing
// is to be said of it. The median over kernels is what they have in common, also where most of them are slower.
std::string doubt_of_factor(std::span<const Tested> kernels, std::span<const double> factor, size_t old_runs,
                            const JudgeOptions& options);

}  // namespace gpuprof::compare
