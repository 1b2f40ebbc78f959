// The files that `check` is given, and what is wrong with them.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "analyze/paths/stack_view.h"
#include "base/result.h"
#include "cmd/common/output.h"
#include "compare/judge/thresholds.h"
#include "compare/run.h"

namespace gpuprof::cmd {

// Reads runs one after the other. All Errors have the exit code kExitUsage, and name the file: it cannot be read, has
// no GPU work or no GPU times, or is a copy of one that was read before, which is no second run.
class RunReader {
 public:
  // What it opens is added to `opened`.
  RunReader(analyze::StackOptions stacks, std::vector<FileId>& opened) : stacks_(std::move(stacks)), opened_(opened) {}

  Result<std::vector<compare::Run>> read(const std::vector<std::string>& files);

 private:
  Result<compare::Run> read_one(const std::string& path);
  // `identity` of a recording or of a file; an empty one is not known.
  Status refuse_copy(const std::string& file, const std::string& identity);

  analyze::StackOptions stacks_;
  std::vector<FileId>& opened_;
  std::vector<std::pair<std::string, std::string>> seen_;  // identity of a recording or a file, and its file
};

// `file` may be - for standard input. Warns of entries that have expired.
Result<compare::Thresholds> read_thresholds(const std::string& file);

// A failure that is none of the programs compared: exit code 1 would say that they became slower.
Error unusable(Error error);

}  // namespace gpuprof::cmd
