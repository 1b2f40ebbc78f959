#include "record/output_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <utility>

#include "record/rank.h"

namespace gpuprof::record {
namespace {

std::string host_name() {
  std::array<char, 256> name{};
  return ::gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "localhost";
}

std::string rank() {
  for (const std::string_view name : kRankVariables) {
    if (const char* value = std::getenv(std::string(name).c_str()); value != nullptr && is_rank(value)) {
      return value;
    }
  }
  return "0";
}

}  // namespace

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

Result<OutputFile> OutputFile::open(const std::string& name) {
  if (name == "-") {
    UniqueFd fd(::fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3));
    if (!fd) {
      return Error{"stdout is closed", "give a file with -o"};
    }
    return OutputFile(std::move(fd), "stdout", "");
  }
  struct stat info {};
  const bool special = ::stat(name.c_str(), &info) == 0 && !S_ISREG(info.st_mode);
  const std::string path = special ? name : name + ".new." + std::to_string(::getpid());
  UniqueFd fd(::open(path.c_str(), O_WRONLY | (special ? 0 : O_CREAT | O_EXCL) | O_CLOEXEC, 0644));
  if (!fd) {
    return Error{"cannot write " + name + ": " + std::strerror(errno), "give another file with -o"};
  }
  return OutputFile(std::move(fd), name, special ? "" : path);
}

OutputFile::OutputFile(OutputFile&& other) noexcept
    : fd_(std::move(other.fd_)), name_(std::move(other.name_)), temporary_(std::exchange(other.temporary_, {})) {}

OutputFile::~OutputFile() {
  if (!temporary_.empty()) {
    ::unlink(temporary_.c_str());
  }
}

Status OutputFile::commit() {
  if (temporary_.empty()) {
    return {};
  }
  struct stat info {};
  const bool rotate = ::stat(name_.c_str(), &info) == 0 && info.st_size > 0;
  if (rotate && std::rename(name_.c_str(), (name_ + ".old").c_str()) != 0) {
    return Error{"cannot keep the old " + name_ + " as " + name_ + ".old: " + std::strerror(errno),
                 "give another file with -o"};
  }
  if (std::rename(temporary_.c_str(), name_.c_str()) != 0) {
    return Error{"cannot write " + name_ + ": " + std::strerror(errno), "give another file with -o"};
  }
  temporary_.clear();
  return {};
}

Status OutputFile::commit_or_keep() {
  Status named = commit();
  if (named) {
    return named;
  }
  Error error = std::move(named).error();
  error.hint = "it is kept as " + std::exchange(temporary_, {});
  return error;
}

void OutputFile::set_owner(uid_t uid, gid_t gid) const {
  if (!temporary_.empty()) {
    (void)!::fchown(fd_.get(), uid, gid);
  }
}

}  // namespace gpuprof::record
