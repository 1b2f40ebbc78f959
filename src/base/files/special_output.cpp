#include "base/files/special_output.h"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstring>
#include <string_view>

#include "base/files/safe_open.h"
#include "base/log.h"

namespace gpuprof {
namespace {

constexpr int kStepMs = 50;
// After this time, open_when_read() reports that it waits for a reader, and wait_until_writable() may give up.
constexpr int kWarnAfterMs = 1000;

Error refused(const std::string& name, const std::string& why, std::string hint) {
  return Error{"cannot write " + name + ": " + why, std::move(hint)};
}

Error special_error(const std::string& name, int error) {
  return refused(name, std::strerror(error), "name another file");
}

// Opens a pipe for writing when it has a reader. open() would block until then, and signals that gpuprof blocks would
// not interrupt it. So this function polls.
Result<UniqueFd> open_when_read(const UniqueFd& place, const std::string& name, const StopRequested& stop) {
  for (int waited = 0;; waited += kStepMs) {
    UniqueFd fd = reopen(place.get(), O_WRONLY | O_NONBLOCK);
    if (fd) {
      return fd;
    }
    if (errno != ENXIO) {
      return special_error(name, errno);
    }
    if (waited == kWarnAfterMs) {
      log::info("waiting for a reader of the pipe " + name);
    }
    if (stop && stop()) {
      return refused(name, "gpuprof was stopped while it waited for a reader of this pipe", "start its reader first");
    }
    ::poll(nullptr, 0, kStepMs);
  }
}

const char* kind_name(mode_t mode) {
  return S_ISBLK(mode) ? "a block device" : S_ISSOCK(mode) ? "a socket" : "not a file";
}

}  // namespace

std::optional<int> descriptor_named(const std::string& path) {
  if (path == "/dev/stdin" || path == "/dev/stdout" || path == "/dev/stderr") {
    return path == "/dev/stdin" ? STDIN_FILENO : path == "/dev/stdout" ? STDOUT_FILENO : STDERR_FILENO;
  }
  for (const std::string_view folder : {"/dev/fd/", "/proc/self/fd/"}) {
    int number = -1;
    const char* const end = path.data() + path.size();
    if (path.starts_with(folder) && path.size() > folder.size() && path[folder.size()] != '-') {
      const auto read = std::from_chars(path.data() + folder.size(), end, number);
      if (read.ec == std::errc() && read.ptr == end) {
        return number;
      }
    }
  }
  return std::nullopt;
}

Result<UniqueFd> duplicate_for_writing(int fd, const std::string& name) {
  const int flags = ::fcntl(fd, F_GETFL);
  if (flags >= 0 && (flags & O_ACCMODE) == O_RDONLY) {
    return refused(name, "it is open for reading only", "name a file");
  }
  UniqueFd copy(::fcntl(fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1));
  if (!copy) {
    return refused(name, errno == EBADF ? "it is closed" : std::strerror(errno), "name a file");
  }
  return copy;
}

Result<UniqueFd> open_special(const UniqueFd& place, const struct stat& info, const std::string& name,
                              const StopRequested& stop) {
  if (S_ISCHR(info.st_mode)) {
    // The owner of a device does not matter: only root creates devices, and the owner of a terminal cannot move it
    // elsewhere.
    UniqueFd fd = reopen(place.get(), O_WRONLY | O_NONBLOCK);
    if (!fd) {
      return special_error(name, errno);
    }
    ::fcntl(fd.get(), F_SETFL, ::fcntl(fd.get(), F_GETFL) & ~O_NONBLOCK);
    return fd;
  }
  if (!S_ISFIFO(info.st_mode)) {
    return refused(name, std::string("it is ") + kind_name(info.st_mode), "name a file, a pipe, or - for stdout");
  }
  if (info.st_uid != 0 && info.st_uid != ::geteuid()) {
    return refused(name, "it is a pipe of another user (uid " + std::to_string(info.st_uid) + ")",
                   "write to stdout (-o -) and let the shell open the pipe, or name another file");
  }
  auto fd = open_when_read(place, name, stop);
  if (fd) {
    ::fcntl(fd->get(), F_SETFL, ::fcntl(fd->get(), F_GETFL) & ~O_NONBLOCK);
  }
  return fd;
}

bool wait_until_writable(int fd, const std::atomic<bool>& give_up) {
  for (int waited = 0; waited < kWarnAfterMs; waited += give_up ? kStepMs : 0) {
    pollfd room{fd, POLLOUT, 0};
    if (::poll(&room, 1, kStepMs) > 0) {
      return true;
    }
  }
  return false;
}

}  // namespace gpuprof
