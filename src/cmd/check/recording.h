// Runs commands. A separate `record` process records each of them, so that a crash affects only one run.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "base/files/own_folder.h"
#include "base/result.h"
#include "cmd/check/inputs.h"

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
  std::vector<std::string> record_options;
};

struct RecordedRuns {
  std::vector<std::vector<RunFile>> files;  // profiles of the successful runs, for each side
  std::vector<std::string> failures;        // a line for each failed run, with the reason
};

// Runs the commands of the plan, and reports progress on stderr. Profiles go to `folder`. The output of a command goes
// to NAME-K.log beside its profile. If the first run fails, even a warm-up, no other follows. A signal ends the current
// run. Then the Error has the exit code 128 plus the signal's number.
Result<RecordedRuns> record_runs(const RunPlan& plan, const std::shared_ptr<const OwnFolder>& folder);

// Opens or makes the folder for the profiles. Without a name, makes a folder such as "gpuprof-check-20261123-143000".
Result<OwnFolder> folder_for_runs(const std::string& name);

}  // namespace gpuprof::cmd
