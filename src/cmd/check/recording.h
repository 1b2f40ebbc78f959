// Runs of commands, each recorded by a `record` of its own, so that none can hurt another.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "base/result.h"

namespace gpuprof::cmd {

// One side of a comparison: a command whose runs are NAME-1.txt, NAME-2.txt, ...
struct RunSide {
  std::string name;  // "old"
  std::vector<std::string> command;
  std::string commit;  // for `record --commit`; empty: record looks for it
};

struct RunPlan {
  std::vector<RunSide> sides;  // one, or two that take turns: A B, B A, A B, ...
  size_t runs = 0;             // of each side
  size_t warmup = 1;           // runs of each side before them, whose profiles are thrown away
  std::string folder;          // for profiles and what the commands print; made where it is not there
  std::vector<std::string> record_options;
};

struct RecordedRuns {
  std::vector<std::vector<std::string>> files;  // profiles by side, of the runs that ended well
  std::vector<std::string> failures;            // of the others, a line each that names run and reason
};

// Takes as long as the runs do; tells on stderr how far it is. What a command prints goes to NAME-K.log beside its
// profile. After a first run that fails, warm-up or not, nothing more is started. A signal that ends this process ends
// the run, too: an Error with the exit code 128 + its number.
Result<RecordedRuns> record_runs(const RunPlan& plan);

// "gpuprof-check-20261123-143000" in the current folder, which is not there yet.
std::string fresh_folder();

}  // namespace gpuprof::cmd
