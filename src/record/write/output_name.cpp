#include "record/write/output_name.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "base/text/numbers.h"
#include "profile/reader.h"
#include "profile/records.h"
#include "record/process/rank.h"
#include "record/signals.h"

namespace gpuprof::record {
namespace {

std::string host_name() {
  std::array<char, 256> name{};
  return ::gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "localhost";
}

// Returns the value of an environment variable. Empty: it is unset or not a number.
std::string number_in(std::string_view variable) {
  const char* const value = std::getenv(std::string(variable).c_str());
  return value != nullptr && is_rank(value) ? value : "";
}

std::string rank() {
  for (const std::string_view name : kRankVariables) {
    if (std::string value = number_in(name); !value.empty()) {
      return value;
    }
  }
  return "0";
}

// Returns whether the job has several ranks. Not all launchers set the number of ranks, so a rank above 0 counts as a
// proof, too.
bool is_one_of_several() {
  constexpr std::string_view kSizes[] = {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "MV2_COMM_WORLD_SIZE", "WORLD_SIZE",
                                         "SLURM_STEP_NUM_TASKS"};
  return std::strtoul(rank().c_str(), nullptr, 10) > 0 ||
         std::any_of(std::begin(kSizes), std::end(kSizes),
                     [](std::string_view name) { return std::strtoul(number_in(name).c_str(), nullptr, 10) > 1; });
}

}  // namespace

std::string default_output() {
  return is_one_of_several() ? "gpuprof.%r.txt" : "gpuprof.txt";
}

Result<std::string> expand_output_name(const std::string& pattern) {
  std::string name;
  for (size_t i = 0; i < pattern.size(); ++i) {
    if (pattern[i] != '%') {
      name += pattern[i];
      continue;
    }
    const char what = i + 1 < pattern.size() ? pattern[++i] : '\0';
    switch (what) {
      case 'p':
        name += std::to_string(::getpid());
        break;
      case 'h':
        name += host_name();
        break;
      case 'r':
        name += rank();
        break;
      case '%':
        name += '%';
        break;
      default:
        return Error{"unknown % in the output name '" + pattern + "'", "use %p, %h, %r, or %% for a percent sign", 2};
    }
  }
  return name;
}

bool goes_to_stdout(const std::string& pattern) {
  const auto name = expand_output_name(pattern);
  if (!name || *name == "-") {
    return static_cast<bool>(name);
  }
  const auto fd = descriptor_named(*name);
  if (!fd || *fd == STDOUT_FILENO) {
    return fd.has_value();
  }
  // Another descriptor may refer to the same file as stdout (3>&1). In a terminal or /dev/null, profile and output may
  // mix.
  struct stat profile {};
  struct stat out {};
  return ::fstat(*fd, &profile) == 0 && ::fstat(STDOUT_FILENO, &out) == 0 && !S_ISCHR(out.st_mode) &&
         profile.st_dev == out.st_dev && profile.st_ino == out.st_ino;
}

namespace {

// A larger profile is not read.
bool has_counts(int fd, off_t size) {
  constexpr off_t kMost = 1 << 20;
  std::string text(static_cast<size_t>(std::min(size, kMost)), '\0');
  const ssize_t read = ::pread(fd, text.data(), text.size(), 0);
  return size > kMost || read != static_cast<ssize_t>(text.size()) || text.find("\nGPU_COUNT;") != std::string::npos;
}

// Returns whether the file is a complete profile whose END line counts no launch, GPU record, sample or loss, and which
// has no counts at instructions.
bool is_without_gpu_work(int fd) {
  constexpr off_t kMostLine = 512;
  std::array<char, kMostLine> bytes{};
  const auto text = [&](off_t from) {
    const ssize_t count = ::pread(fd, bytes.data(), bytes.size(), from);
    return std::string(bytes.data(), static_cast<size_t>(std::max<ssize_t>(count, 0)));
  };
  struct stat info {};
  const std::string begin = text(0);
  const std::string end = ::fstat(fd, &info) == 0 ? text(std::max<off_t>(info.st_size - kMostLine, 0)) : "";
  const size_t newline = end.size() < 2 ? std::string::npos : end.rfind('\n', end.size() - 2);
  if (newline == std::string::npos) {
    return false;
  }
  auto reader = profile::Reader::open_text(begin.substr(0, begin.find('\n') + 1) + end.substr(newline + 1), "profile");
  const auto record = reader ? reader->next() : Result<std::optional<profile::Record>>(std::nullopt);
  const auto* const last = record && *record ? std::get_if<profile::End>(&**record) : nullptr;
  return last != nullptr && last->launches == 0 && last->gpu_records == 0 && last->samples == 0 && last->lost == 0 &&
         !has_counts(fd, info.st_size);
}

}  // namespace

bool is_rotated_part(int fd) {
  constexpr size_t kMostHead = 512;  // the lines `recording` and `recording.rotation` come first
  constexpr std::string_view kKey = "\nMETA;recording.rotation;";
  std::array<char, kMostHead> bytes{};
  const ssize_t count = ::pread(fd, bytes.data(), bytes.size(), 0);
  const std::string_view head(bytes.data(), static_cast<size_t>(std::max<ssize_t>(count, 0)));
  const size_t at = head.find(kKey);
  const size_t end = at == std::string_view::npos ? at : head.find('\n', at + kKey.size());
  return end != std::string_view::npos && whole_number(head.substr(0, end).substr(head.rfind(' ', end) + 1));
}

Result<OutputFile> open_profile_file(const std::string& pattern) {
  const auto name = expand_output_name(pattern);
  if (!name) {
    return name.error();
  }
  const auto stop = [] { return pending_stop() != 0; };
  auto output = OutputFile::open(*name, {.keep_old = true,
                                         .mode = 0644,
                                         .stop = stop,
                                         .busy_hint = "give each recording its own name: -o NAME with %p (process), "
                                                      "%h (host) or %r (rank)",
                                         .is_worthless = is_without_gpu_work});
  if (const int signal = pending_stop(); signal != 0 && !output) {
    Error error = std::move(output).error();
    error.exit_code = 128 + signal;
    return error;
  }
  return output;
}

}  // namespace gpuprof::record
