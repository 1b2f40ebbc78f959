#include "base/process/pidfd.h"

#include <poll.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace gpuprof {

UniqueFd open_pidfd(pid_t pid) {
  return UniqueFd(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
}

bool has_ended(const UniqueFd& pidfd) {
  pollfd end{pidfd.get(), POLLIN, 0};
  return ::poll(&end, 1, 0) == 1;
}

}  // namespace gpuprof
