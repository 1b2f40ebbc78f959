// Runs commands. A separate `record` process records each of them, so that a crash affects only one run.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "base/result.h"

namespace gpuprof::cmd {

// One side of a comparison. The profiles of its runs are NAME-1.txt, NAME-2.txt, ...
struct RunSide {
  std::string name;
  std::vector<std::string> command;
  std::string commit;  // value of `record --commit`; if empty, `record` finds out the commit
};

struct RunPlan {
  std::vector<RunSide> sides;  // one side, or two that alternate: A B, B A, A B, ...
  size_t runs = 0;             // measured runs per side
  size_t warmup = 1;           // warm-up runs per side, whose profiles are deleted
  std::string folder;          // folder for profiles and output of the commands; created if it does not exist
  std::vector<std::string> record_options;
};

struct RecordedRuns {
  std::vector<std::vector<std::string>> files;  // profiles of the successful runs, for each side
  std::vector<std::string> failures;            // a line for each failed run, with the reason
};

// Runs the commands of the plan, and reports progress on stderr. The output of a command goes to NAME-K.log beside
// its profile. If the first run fails, even a warm-up, no other follows. A signal ends the current run. Then the
// Error has the exit code 128 plus the signal's number.
Result<RecordedRuns> record_runs(const RunPlan& plan);

// Returns a name such as "gpuprof-check-20261123-143000" that does not exist in the current folder.
std::string fresh_folder();

}  // namespace gpuprof::cmd
