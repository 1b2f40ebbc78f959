// Checks whether runs may be compared at all.
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

// Fails if the runs measure different units, or if a run has no GPU work (kExitNothing).
Status check_comparable(std::span<const Run> old_runs, std::span<const Run> new_runs);

// Fails if old and new runs have no kernel in common. They are then runs of two different programs.
Status check_related(const Comparison& all);

// Returns the warning about dropped stall samples, or "" if few were dropped. `check` also shows this warning.
std::string dropped_samples_text(const RunFacts& run);

// Returns warnings, with file names: runs used different devices or drivers, a program failed, or data is missing.
std::vector<std::string> comparability_warnings(std::span<const RunFacts* const> old_runs,
                                                std::span<const RunFacts* const> new_runs);

}  // namespace gpuprof::compare
