// Opens and checks the input of the commands that read a profile.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "analyze/rows/aggregate.h"
#include "base/result.h"
#include "base/unique_fd.h"
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

  // Opens the file of -i, and unpacks it if it is compressed. Without -i, opens standard input if it is a pipe or a
  // file that is not empty, else gpuprof.txt in the current folder.
  [[nodiscard]] Result<profile::Reader> open();

  std::vector<FileId> files;
  std::string opened;  // name of the opened file; - is standard input
};

std::string input_name(const std::string& path);

// Opens the profile `path`, where - is standard input, and adds it to `files`. Warns if a pipe sends nothing for a
// second.
Result<profile::Reader> open_profile(const std::string& path, bool lenient, std::vector<FileId>& files);

// Like above, for a file that is already open; `name` is its name in messages.
Result<profile::Reader> open_profile(UniqueFd fd, const std::string& name, bool lenient, std::vector<FileId>& files);

// Adds all records of the profile to `tables`, and calls `see` with each record. Stops when `see` returns an error.
Status read_records(profile::Reader& reader, profile::Tables& tables,
                    const std::function<Status(const profile::Record&)>& see);

// Warns if the profile is a subset of another one, incomplete or inconsistent, if records were lost, or if lines were
// skipped.
void warn_of_gaps(const analyze::ProfileInfo& info);

// Warns of what the recording missed, with the lines that also end a report (the "trust footer").
void warn_of_coverage(const analyze::ProfileInfo& info);

// Returns an Error with the exit code kExitNothing. A command fails with it if it has nothing to show, because GPU
// work is missing.
Error no_gpu_work(const analyze::ProfileInfo& info, const profile::Tables& tables);

struct MinCoverage {
  double percent = 0;

  void declare(CLI::App& app);
  // Fails with the exit code kExitCoverage if the coverage is below `percent`. Without GPU work, the coverage is 0%.
  // `without_stacks`: the recording was made with --stacks=none.
  [[nodiscard]] Status check(const profile::WorkCoverage& covered, bool without_stacks,
                             const std::string& hint_if_empty = "`gpuprof report` says why") const;
  [[nodiscard]] Status check(const analyze::ProfileInfo& info) const;
};

}  // namespace gpuprof::cmd
