// Reads and validates the input files of `check`.
#pragma once

#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "analyze/merge/recordings.h"
#include "analyze/paths/stack_view.h"
#include "base/files/own_folder.h"
#include "base/result.h"
#include "cmd/common/output.h"
#include "compare/judge/thresholds.h"
#include "compare/run.h"

namespace gpuprof::cmd {

// The profile of a run. The user has named `path`, unless `folder` is set: then gpuprof opens the last component of
// `path` in this folder.
struct RunFile {
  std::string path;
  std::shared_ptr<const OwnFolder> folder = {};
  FileId id = {};  // the file that RunReader has read

  [[nodiscard]] Result<UniqueFd> open() const;
};

std::vector<RunFile> named_files(const std::vector<std::string>& paths);

// Reads runs. Errors have the exit code kExitUsage and name the file. Rejects a file that cannot be read, that has no
// times of the measure, or that is a copy of an earlier file.
class RunReader {
 public:
  RunReader(analyze::StackOptions stacks, std::vector<FileId>& opened, analyze::Measure measure = analyze::Measure::gpu)
      : stacks_(std::move(stacks)), opened_(opened), measure_(measure) {}

  // `side`: how many runs are on the side of this one. They share half of the limit for frames.
  Result<compare::Run> read(RunFile& file, size_t side);
  Result<std::vector<compare::Run>> read(std::vector<RunFile>& files);

 private:
  Result<compare::Run> read_one(RunFile& file, size_t most_frames);
  // `identities` are texts that identify the file, or the recordings in it.
  Status reject_copy(const std::string& file, const std::set<std::string>& identities);

  analyze::StackOptions stacks_;
  std::vector<FileId>& opened_;
  analyze::Measure measure_;
  analyze::SeenRecordings seen_;  // holds identities of files, too
};

// Reads the allowed slowdowns from `file`; - is standard input. Warns of entries that have expired.
Result<compare::Thresholds> read_thresholds(const std::string& file);

// Changes the exit code 1 of a failure to kExitUsage, because 1 would report that the new program became slower.
Error unusable(Error error);

}  // namespace gpuprof::cmd
