#include "cmd/common/input.h"

#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <utility>
#include <vector>

#include "analyze/rows/no_work.h"
#include "base/files/file.h"
#include "base/log.h"
#include "base/return_if_error.h"
#include "cmd/command.h"
#include "cmd/common/options.h"
#include "output/trust.h"

namespace gpuprof::cmd {
namespace {

constexpr const char* kDefaultFile = "gpuprof.txt";

// Returns whether standard input is a pipe or a file that is not empty. Ignores /dev/null, terminals and sockets,
// because programs often inherit these as standard input although the user does not mean them.
bool stdin_has_input() {
  struct stat info {};
  if (::fstat(STDIN_FILENO, &info) != 0) {
    return false;
  }
  return S_ISFIFO(info.st_mode) || (S_ISREG(info.st_mode) && info.st_size > 0);
}

// Warns once if the input sends no data within a second.
void wait_for_first_bytes(int fd, const std::string& name) {
  constexpr int kWarnAfterMs = 1000;
  struct stat info {};
  pollfd ready{fd, POLLIN, 0};
  if (::fstat(fd, &info) == 0 && (S_ISFIFO(info.st_mode) || S_ISSOCK(info.st_mode)) &&
      ::poll(&ready, 1, kWarnAfterMs) == 0) {
    log::warn("waiting for a profile from " + name + ": no data yet");
  }
}

}  // namespace

void Input::declare(CLI::App& app) {
  add_file_option(app, "-i,--input,FILE", path, "profile to read; - is stdin (default: piped stdin, else gpuprof.txt)");
  add_lenient_flag(app, lenient);
}

std::string input_name(const std::string& path) {
  return path == "-" ? "stdin" : path;
}

Result<profile::Reader> open_profile(const std::string& path, bool lenient, std::vector<FileId>& files) {
  auto fd = open_input(path);
  RETURN_IF_ERROR(fd);
  return open_profile(std::move(fd).value(), input_name(path), lenient, files);
}

Result<profile::Reader> open_profile(UniqueFd fd, const std::string& name, bool lenient, std::vector<FileId>& files) {
  files.push_back(FileId::of(fd.get()));
  wait_for_first_bytes(fd.get(), name);
  return profile::Reader::open(std::move(fd), name, profile::ReaderOptions{.lenient = lenient});
}

Result<profile::Reader> Input::open() {
  const bool chosen = !path.empty();
  const std::string source = chosen ? path : stdin_has_input() ? "-" : kDefaultFile;
  opened = source;
  auto reader = open_profile(source, lenient, files);
  if (Status may = may_write_profile("-", files); reader && !may) {
    return std::move(may).error();
  }
  if (reader || chosen) {
    return reader;
  }
  Error error = std::move(reader).error();
  if (source == "-") {
    // The standard input of a script may be an empty pipe, while the user means gpuprof.txt.
    error.hint += "; to read a file, name it: -i " + std::string(kDefaultFile);
  } else if (::access(kDefaultFile, F_OK) != 0) {
    error.hint = ::access("gpuprof.0.txt", F_OK) == 0
                     ? "merge the profiles of the ranks: gpuprof merge gpuprof.*.txt -o gpuprof.txt"
                     : "record one first: gpuprof record -- COMMAND; or name one: -i FILE";
  }
  return error;
}

Status read_records(profile::Reader& reader, profile::Tables& tables,
                    const std::function<Status(const profile::Record&)>& see) {
  for (;;) {
    auto next = reader.next();
    RETURN_IF_ERROR(next);
    if (!next->has_value()) {
      return {};
    }
    if (const auto reason = tables.add(**next); !reason) {
      RETURN_IF_ERROR(see(**next));
    } else if (reader.lenient()) {
      reader.count_bad();
    } else {
      return reader.error_here(*reason);
    }
  }
}

void warn_of_gaps(const analyze::ProfileInfo& info) {
  for (const std::string& gap : output::gap_lines(info)) {
    log::warn(gap);
  }
}

void warn_of_coverage(const analyze::ProfileInfo& info) {
  constexpr double kGood = 99;  // percent; a lower coverage is a warning
  std::vector<std::string> lines = output::trust_lines(info, output::TrustLines::missing);
  if (!lines.empty() && !info.covered.is_full() && info.covered.percent() >= kGood) {
    lines.pop_back();
  }
  for (const std::string& line : lines) {
    if (!line.starts_with("lost: ")) {  // warn_of_gaps() reports losses
      log::warn(line);
    }
  }
  if (const std::string truncated = output::truncated_text(info); !truncated.empty()) {
    log::warn(truncated + ": they are below [truncated]");
  }
}

void MinCoverage::declare(CLI::App& app) {
  expect_percentage(app.add_option("--min-coverage", percent,
                                   "exit with 3 if less than this percentage of GPU work has a stack (default: 0)"),
                    0.0, 100.0)
      ->type_name("PCT");
}

Status MinCoverage::check(const profile::WorkCoverage& covered, bool without_stacks,
                          const std::string& hint_if_empty) const {
  if (percent <= 0 || covered.percent() >= percent) {
    return {};
  }
  char wanted[32];
  std::snprintf(wanted, sizeof wanted, "%g%%", percent);
  if (!covered.any()) {
    return Error{"the profile holds no GPU work: its coverage is 0%, less than " + std::string(wanted), hint_if_empty,
                 kExitCoverage};
  }
  return Error{"a CPU stack explains " + covered.percent_text() + " of the GPU work, less than " + wanted,
               without_stacks ? "--stacks=none switched CPU stacks off: record without it"
                              : "`gpuprof report` says what is missing",
               kExitCoverage};
}

Status MinCoverage::check(const analyze::ProfileInfo& info) const {
  if (percent > 0 && !info.complete) {
    return Error{"the profile is cut short, so its coverage is unknown",
                 "record it again, and let `gpuprof record` end by itself", kExitCoverage};
  }
  const auto [begin, end] = info.meta.equal_range("stack_engine");
  const bool without_stacks = std::any_of(begin, end, [](const auto& engine) { return engine.second == "none"; });
  return check(info.covered, without_stacks, analyze::no_work(info).hint);
}

Error no_gpu_work(const analyze::ProfileInfo& info, const profile::Tables& tables) {
  if (!tables.gpu_counts().empty()) {
    return {"the profile holds counts of instructions, and no GPU work", "gpuprof report shows them", kExitNothing};
  }
  return analyze::no_work(info);
}

}  // namespace gpuprof::cmd
