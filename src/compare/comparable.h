// Finds reasons why runs cannot be judged at all, such as lost data or different devices.
#pragma once

#include <string>
#include <vector>

#include "compare/comparison.h"
#include "compare/judge/judge.h"

namespace gpuprof::compare {

// Returns the reasons, one per line; no reasons if the runs may be compared. `one_side`: all runs belong to one side.
std::vector<std::string> incomparable(const Comparison& runs, const JudgeOptions& options, bool one_side);

}  // namespace gpuprof::compare
