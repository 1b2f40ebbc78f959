// Opens and checks the input of the commands that read a profile.
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

  // Opens the file of -i. Without -i, opens standard input if it is a pipe or a non-empty file, else gpuprof.txt in
  // the current folder. Unpacks compressed profiles.
  [[nodiscard]] Result<profile::Reader> open();

  std::vector<FileId> files;
  std::string opened;  // name of the opened file; - for standard input
};

std::string input_name(const std::string& path);

// Opens the profile `path` (- is standard input), and adds it to `files`. Warns if a pipe sends nothing for a second.
Result<profile::Reader> open_profile(const std::string& path, bool lenient, std::vector<FileId>& files);

// Adds all records of the profile to `tables`, and passes each to `see`. Stops at the first error of `see`.
Status read_records(profile::Reader& reader, profile::Tables& tables,
                    const std::function<Status(const profile::Record&)>& see);

// Warns if the profile is a subset, cut short or inconsistent, if records were lost, or if lines were skipped.
void warn_of_gaps(const analyze::ProfileInfo& info);

// Warns of what the recording missed. Prints the same lines as the "trust footer" at the end of a report.
void warn_of_coverage(const analyze::ProfileInfo& info);

// Returns an Error with exit code kExitNothing: a command that shows nothing because of missing GPU work has failed.
Error no_gpu_work(const profile::Tables& tables);

struct MinCoverage {
  double percent = 0;

  void declare(CLI::App& app);
  // Fail with exit code kExitCoverage if the coverage is below `percent`. Without GPU work, the coverage is 0%.
  [[nodiscard]] Status check(const profile::WorkCoverage& covered) const;
  [[nodiscard]] Status check(const analyze::ProfileInfo& info) const;
};

}  // namespace gpuprof::cmd
