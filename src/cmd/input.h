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

}  // namespace gpuprof::cmd
