// What forbids a verdict on runs, whatever they cost.
#pragma once

#include <string>
#include <vector>

#include "compare/comparison.h"
#include "compare/judge/judge.h"

namespace gpuprof::compare {

// A line for each thing that makes a verdict worth nothing; none: the runs may be compared. `one_side`: they are not in
// two sides.
std::vector<std::string> incomparable(const Comparison& runs, const JudgeOptions& options, bool one_side);

}  // namespace gpuprof::compare
