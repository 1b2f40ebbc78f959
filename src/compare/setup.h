// Facts about runs that both `check` and `diff` use: drivers and failures.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "compare/run.h"

namespace gpuprof::compare {

struct KnownDriver {
  std::string name;               // not empty
  const RunFacts* run = nullptr;  // the first run with this driver
};

// Returns the distinct drivers in the order of the runs. Ignores runs with an unknown driver.
std::vector<KnownDriver> known_drivers(std::span<const RunFacts* const> runs);

// Returns how the runs were recorded differently, in ways that change their GPU time: windows of different length, or
// samples of GPU code, CPU stacks or a limit of the overhead in only some runs. Returns each kind of difference once,
// with two of the files.
std::vector<std::string> recording_differences(std::span<const RunFacts* const> runs);

// Returns a message for each run that has a larger share of failed launches than the other side. Ignores differences up
// to `least_percent` percentage points, and runs whose launches are unknown.
std::vector<std::string> failure_differences(std::span<const RunFacts* const> old_runs,
                                             std::span<const RunFacts* const> new_runs, double least_percent);

// True if the run's program ended unsuccessfully. A process that is still running after the recording has not failed.
bool has_failed(const RunFacts& run);

}  // namespace gpuprof::compare
