#include "cmd/check/inputs.h"

#include <time.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/clock.h"
#include "base/files/file.h"
#include "base/files/path.h"
#include "base/log.h"
#include "base/return_if_error.h"
#include "base/text/numbers.h"
#include "cmd/common/input.h"

namespace gpuprof::cmd {
namespace {

constexpr size_t kMostThresholdBytes = size_t{1} << 20U;

}  // namespace

Error unusable(Error error) {
  if (error.exit_code == kExitFailure) {
    error.exit_code = kExitUsage;
  }
  return error;
}

Status RunReader::reject_copy(const std::string& file, const std::set<std::string>& identities) {
  const std::string other = seen_.add(identities, file);
  return other.empty() ? Status()
                       : Error{file + " is the same recording as " + other + ": a copy does not count as another run",
                               "record the program again", kExitUsage};
}

Result<UniqueFd> RunFile::open() const {
  return folder == nullptr ? open_input(path) : folder->read(std::string(base_name(path)));
}

std::vector<RunFile> named_files(const std::vector<std::string>& paths) {
  std::vector<RunFile> files;
  files.reserve(paths.size());
  for (const std::string& path : paths) {
    files.push_back({path});
  }
  return files;
}

Result<compare::Run> RunReader::read_one(RunFile& named, size_t most_frames) {
  auto fd = named.open();
  RETURN_IF_ERROR(fd);
  const std::string file = input_name(named.path);
  auto reader = open_profile(std::move(fd).value(), file, false, opened_);
  RETURN_IF_ERROR(reader);
  named.id = opened_.back();
  const std::string identity = "file " + std::to_string(named.id.device) + " " + std::to_string(named.id.inode);
  RETURN_IF_ERROR(reject_copy(file, {identity}));
  auto run = compare::read_run(*reader, file, stacks_, most_frames, measure_);
  if (!run) {
    return run;
  }
  RETURN_IF_ERROR(reject_copy(file, analyze::recording_ids(run->facts.info.meta)));
  const bool is_empty =
      measure_ == analyze::Measure::gpu ? run->facts.info.kind == analyze::ProfileKind::empty : run->total.ns == 0;
  if (is_empty) {
    return compare::nothing_measured(run->facts, kExitUsage);
  }
  if (run->facts.info.is_estimate()) {
    log::warn(file + ": its " + run->facts.info.estimate_text());
  }
  if (!run->timed) {
    const bool samples = run->facts.info.kind == analyze::ProfileKind::stall_samples;
    return Error{
        file + " has " + (samples ? "samples" : "launch counts") + " but no GPU times, so check cannot judge it",
        "record the program from its start: gpuprof record -- COMMAND", kExitUsage};
  }
  return run;
}

Result<compare::Run> RunReader::read(RunFile& file, size_t side) {
  auto run = read_one(file, compare::kMostPathFrames / 2 / side);
  return run ? std::move(run) : Result<compare::Run>(unusable(std::move(run).error()));
}

Result<std::vector<compare::Run>> RunReader::read(std::vector<RunFile>& files) {
  std::vector<compare::Run> runs;
  for (RunFile& file : files) {
    auto run = read(file, files.size());
    RETURN_IF_ERROR(run);
    runs.push_back(std::move(*run));
  }
  return runs;
}

Result<compare::Thresholds> read_thresholds(const std::string& file) {
  const auto fd = open_input(file);
  if (!fd) {
    return Error{fd.error().message, "--thresholds names the file", kExitUsage};
  }
  const std::string name = input_name(file);
  const BoundedText read = read_bounded(fd->get(), kMostThresholdBytes);
  if (read.end == BoundedText::End::failed) {
    return Error{"cannot read " + name + ": " + std::strerror(read.error), "--thresholds names the file", kExitUsage};
  }
  if (read.end == BoundedText::End::too_large) {
    return Error{name + " has more than " + bytes_text(kMostThresholdBytes) + ", the limit for a file of thresholds",
                 "shorten the file of --thresholds; a * in a line matches any text", kExitUsage};
  }
  std::vector<std::string> expired;
  auto thresholds = compare::parse_thresholds(read.text, name, utc_text(::time(nullptr), "%Y-%m-%d"), expired);
  for (const std::string& line : expired) {
    log::warn(line);
  }
  return thresholds ? std::move(thresholds) : Result<compare::Thresholds>(unusable(std::move(thresholds).error()));
}

}  // namespace gpuprof::cmd
