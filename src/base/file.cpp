#include "base/file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace gpuprof {
namespace {

constexpr int kExitBrokenPipe = 141;  // 128 + SIGPIPE, as a shell shows a process that the signal ended

Error errno_error(const std::string& what, int error, std::string hint = {}) {
  return Error{what + ": " + std::strerror(error), std::move(hint)};
}

// A rename would replace a symbolic link instead of what it points to.
std::string resolve_link(const std::string& path) {
  char resolved[PATH_MAX];
  return ::realpath(path.c_str(), resolved) != nullptr ? std::string(resolved) : path;
}

Status write_directly(const std::string& path, std::string_view text) {
  const UniqueFd fd(::open(path.c_str(), O_WRONLY | O_CLOEXEC | O_NOCTTY));
  if (!fd) {
    return errno_error("cannot open " + path, errno);
  }
  return write_all(fd.get(), text, path);
}

Status write_and_rename(const std::string& path, std::string_view text) {
  std::string temporary = path + ".XXXXXX";
  const UniqueFd fd(::mkostemp(temporary.data(), O_CLOEXEC));
  if (!fd) {
    return errno_error("cannot create " + path, errno, "choose another file with -o, in a folder that you may write");
  }
  const mode_t mask = ::umask(0);
  ::umask(mask);
  Status done = write_all(fd.get(), text, path);
  if (done && (::fchmod(fd.get(), 0666 & ~mask) != 0 || ::rename(temporary.c_str(), path.c_str()) != 0)) {
    done = errno_error("cannot create " + path, errno);
  }
  if (!done) {
    ::unlink(temporary.c_str());
  }
  return done;
}

}  // namespace

Result<UniqueFd> open_input(const std::string& path) {
  UniqueFd fd(path == "-" ? ::fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 0)
                          : ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY));
  if (!fd) {
    return errno_error("cannot open " + path, errno, "name a file that `gpuprof record` wrote: -i FILE");
  }
  struct stat info {};
  if (::fstat(fd.get(), &info) == 0 && S_ISDIR(info.st_mode)) {
    return errno_error("cannot read " + path, EISDIR, "name a file that `gpuprof record` wrote: -i FILE");
  }
  return fd;
}

Status write_all(int fd, std::string_view text, const std::string& name) {
  while (!text.empty()) {
    const ssize_t n = ::write(fd, text.data(), text.size());
    if (n < 0) {
      if (errno == EINTR) {
        continue;
      }
      if (errno == EPIPE) {
        return Error{"", "", kExitBrokenPipe};
      }
      return errno_error("cannot write " + name, errno);
    }
    text.remove_prefix(static_cast<size_t>(n));
  }
  return {};
}

Status write_output(const std::string& path, std::string_view text) {
  if (path == "-") {
    return write_all(STDOUT_FILENO, text, "standard output");
  }
  struct stat info {};
  if (::stat(path.c_str(), &info) == 0) {
    if (S_ISDIR(info.st_mode)) {
      return errno_error("cannot create " + path, EISDIR, "name a file");
    }
    if (!S_ISREG(info.st_mode)) {
      return write_directly(path, text);
    }
  }
  return write_and_rename(resolve_link(path), text);
}

}  // namespace gpuprof
