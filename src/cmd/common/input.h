// What the commands that read a profile have in common.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "analyze/rows/aggregate.h"
#include "base/result.h"
#include "cmd/common/output.h"
#include "profile/reader.h"

namespace CLI {
class App;
}

namespace gpuprof::cmd {

struct Input {
  std::string path;
  bool lenient = false;

  void declare(CLI::App& app);

  // Without -i: standard input where something is connected to it (a pipe, a socket, a file with bytes), else
  // gpuprof.txt in the current folder. Compressed profiles are unpacked.
  [[nodiscard]] Result<profile::Reader> open();

  std::vector<FileId> files;  // what has been opened
  std::string opened;         // its name; - for standard input
};

// What messages call the input `path`.
std::string input_name(const std::string& path);

// Opens the profile `path`, which may be - for standard input, and adds it to `files`. A pipe that brings nothing for a
// second is told of on stderr, and waited for.
Result<profile::Reader> open_profile(const std::string& path, bool lenient, std::vector<FileId>& files);

// Adds all records of the profile to `tables`, and shows each of them to `see`, whose error ends it.
Status read_records(profile::Reader& reader, profile::Tables& tables,
                    const std::function<Status(const profile::Record&)>& see);

// Tells on stderr what the profile lacks: cut short, losses, skipped lines, contradictions.
void warn_of_gaps(const analyze::ProfileInfo& info);

// The same in one line, for a picture; empty where nothing is missing.
std::string gaps(const analyze::ProfileInfo& info);

// Tells on stderr what the recording saw and missed. Nothing where it missed nothing.
void warn_of_coverage(const analyze::ProfileInfo& info);

// That the profile holds no GPU work, with the exit code kExitNothing: a command that shows nothing has not succeeded.
Error no_gpu_work(const profile::Tables& tables);

// --min-coverage PCT of a command, and what it comes to.
struct MinCoverage {
  double percent = 0;

  void declare(CLI::App& app);
  // Their Errors have the exit code kExitCoverage. No GPU work at all is no coverage.
  [[nodiscard]] Status check(const profile::WorkCoverage& covered) const;
  [[nodiscard]] Status check(const analyze::ProfileInfo& info) const;
};

}  // namespace gpuprof::cmd
