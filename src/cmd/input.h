// What the commands that read a profile have in common.
#pragma once

#include <string>

#include "analyze/aggregate.h"
#include "base/result.h"
#include "profile/reader.h"

namespace CLI {
class App;
}

namespace gpuprof::cmd {

struct Input {
  std::string path;
  bool lenient = false;

  void declare(CLI::App& app);

  // Without -i: standard input, or gpuprof.txt in the current folder where that is a terminal.
  [[nodiscard]] Result<profile::Reader> open() const;
};

// Tells on stderr what the profile lacks: cut short, losses, skipped lines, contradictions.
void warn_of_gaps(const analyze::ProfileInfo& info);

// The same in one line, for a picture; empty where nothing is missing.
std::string gaps(const analyze::ProfileInfo& info);

// Tells on stderr what the recording saw and missed. Nothing where it missed nothing.
void warn_of_coverage(const analyze::ProfileInfo& info);

// That the profile holds no GPU work, with the exit code kExitNothing: a command that shows nothing has not succeeded.
Error no_gpu_work();

// --min-coverage PCT of a command, and what it comes to.
struct MinCoverage {
  double percent = 0;

  void declare(CLI::App& app);
  // Their Errors have the exit code kExitCoverage. No GPU work at all is no coverage.
  [[nodiscard]] Status check(const profile::WorkCoverage& covered) const;
  [[nodiscard]] Status check(const analyze::ProfileInfo& info) const;
};

}  // namespace gpuprof::cmd
