// Whether runs may be put side by side at all.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "compare/comparison.h"
#include "compare/run.h"

namespace gpuprof::compare {

// An Error where the numbers of the runs are not of one kind, or a run has no GPU work (kExitNothing).
Status check_comparable(std::span<const Run> old_runs, std::span<const Run> new_runs);

// The same of what they have in common: an Error where that is nothing, as of two different programs.
Status check_related(const Comparison& all);

// What a reader must know of runs that can be compared: other devices or drivers, a program that failed, what is
// missing from a profile. A line each, which names the file.
// Of them, one that matters to `check`, too. Empty where it is not so.
std::string dropped_samples_text(const RunFacts& run);

std::vector<std::string> doubts(std::span<const RunFacts* const> old_runs, std::span<const RunFacts* const> new_runs);

}  // namespace gpuprof::compare
