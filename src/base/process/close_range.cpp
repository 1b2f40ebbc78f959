#include "base/process/close_range.h"

#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <limits>

namespace gpuprof {
namespace {

constexpr unsigned kCloseOnExec = 1U << 2U;  // CLOSE_RANGE_CLOEXEC, since Linux 5.11

// Returns false if the kernel does not have close_range() (before Linux 5.9) or the flag, or if a seccomp filter
// forbids it.
bool ask_kernel(int first, int last, unsigned flags) {
#if defined(SYS_close_range)
  return ::syscall(SYS_close_range, static_cast<unsigned>(first), static_cast<unsigned>(last), flags) == 0;
#else
  return false;
#endif
}

}  // namespace

void close_between(int first, int last) {
  if (ask_kernel(first, last, 0)) {
    return;
  }
  const long most = ::sysconf(_SC_OPEN_MAX);
  for (int fd = first; fd <= last && fd < most; ++fd) {
    ::close(fd);
  }
}

bool close_on_exec_from(int first) {
  if (ask_kernel(first, std::numeric_limits<int>::max(), kCloseOnExec)) {
    return true;
  }
  const long most = ::sysconf(_SC_OPEN_MAX);
  for (int fd = first; fd < most; ++fd) {
    ::fcntl(fd, F_SETFD, FD_CLOEXEC);
  }
  return most > 0;
}

}  // namespace gpuprof
