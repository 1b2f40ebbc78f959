#include "base/safe_read.h"

#include <fcntl.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>

#include "base/atomics.h"
#include "base/keep_errno.h"

namespace gpuprof::injection {
namespace {

uint32_t vm_read_refused = 0;  // by a seccomp filter, or by a kernel that is older than the call

// Opened anew each time: a descriptor that is kept could be closed, or inherited, by the target.
bool read_by_file(const void* from, void* to, size_t bytes) {
  const auto fd = static_cast<int>(syscall(SYS_openat, AT_FDCWD, "/proc/self/mem", O_RDONLY | O_CLOEXEC));
  if (fd < 0) {
    return false;
  }
  const auto got = syscall(SYS_pread64, fd, to, bytes, reinterpret_cast<uintptr_t>(from));
  syscall(SYS_close, fd);
  return got == static_cast<long>(bytes);
}

}  // namespace

// System calls as such: the functions of libc are cancellation points. The process is asked for each time: the memory
// of another one, such as the parent after a fork that we do not know of, would look much the same.
bool safe_read(const void* from, void* to, size_t bytes) {
  const KeepErrno keep_errno;
  if (load_relaxed(&vm_read_refused) == 0) {
    const iovec local = {to, bytes};
    const iovec remote = {const_cast<void*>(from), bytes};
    const auto got = syscall(SYS_process_vm_readv, syscall(SYS_getpid), &local, 1, &remote, 1, 0);
    if (got >= 0 || errno == EFAULT) {
      return got == static_cast<long>(bytes);
    }
    if (errno == EPERM || errno == ENOSYS) {
      store_relaxed(&vm_read_refused, 1U);
    }
  }
  return read_by_file(from, to, bytes);
}

}  // namespace gpuprof::injection
