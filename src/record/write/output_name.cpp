#include "record/write/output_name.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <iterator>
#include <string_view>

#include "record/process/rank.h"
#include "record/signals.h"

namespace gpuprof::record {
namespace {

std::string host_name() {
  std::array<char, 256> name{};
  return ::gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "localhost";
}

// A number in a variable of the environment; empty: none.
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

// Not every launcher tells how many there are, but whoever is not rank 0 is not alone.
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
  // Another descriptor of the same file, as after 3>&1. Devices keep nothing, or show everything anyway.
  struct stat profile {};
  struct stat out {};
  return ::fstat(*fd, &profile) == 0 && ::fstat(STDOUT_FILENO, &out) == 0 && !S_ISCHR(out.st_mode) &&
         profile.st_dev == out.st_dev && profile.st_ino == out.st_ino;
}

Result<OutputFile> open_profile_file(const std::string& pattern) {
  const auto name = expand_output_name(pattern);
  if (!name) {
    return name.error();
  }
  const auto stop = [] { return pending_stop() != 0; };
  auto output = OutputFile::open(*name, {.keep_old = true, .mode = 0644, .stop = stop});
  if (const int signal = pending_stop(); signal != 0 && !output) {
    Error error = std::move(output).error();
    error.exit_code = 128 + signal;
    return error;
  }
  return output;
}

}  // namespace gpuprof::record
