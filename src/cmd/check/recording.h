// Runs commands, each recorded by a separate `record` process, so that a crash affects only that run.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "base/result.h"

namespace gpuprof::cmd {

// One side of a comparison: a command. The profiles of its runs are NAME-1.txt, NAME-2.txt, ...
struct RunSide {
  std::string name;  // "old"
  std::vector<std::string> command;
  std::string commit;  // for `record --commit`; empty: `record` determines the commit
};

struct RunPlan {
  std::vector<RunSide> sides;  // one side, or two that alternate: A B, B A, A B, ...
  size_t runs = 0;             // number of measured runs per side
  size_t warmup = 1;           // number of warm-up runs per side; their profiles are discarded
  std::string folder;          // for profiles and command output; created if missing
  std::vector<std::string> record_options;
};

struct RecordedRuns {
  std::vector<std::vector<std::string>> files;  // for each side, the profiles of its successful runs
  std::vector<std::string> failures;            // one line for each failed run, with its reason
};

// Runs the plan's commands and reports progress on stderr. A command's output goes to NAME-K.log beside its profile.
// Stops after a failed first run, even a warm-up. A signal ends the current run. The Error then has the exit code 128
// plus the signal's number.
Result<RecordedRuns> record_runs(const RunPlan& plan);

// Returns "gpuprof-check-20261123-143000": a name that does not exist in the current folder.
std::string fresh_folder();

}  // namespace gpuprof::cmd
