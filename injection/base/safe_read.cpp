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

// 1: process_vm_readv() failed, because a seccomp filter blocks it or the kernel lacks it
uint32_t vm_read_refused = 0;

// Opens the file anew for each read. The target could close a permanent descriptor, or a child could inherit it.
bool read_by_file(const void* from, void* to, size_t bytes) {
  const auto fd = static_cast<int>(syscall(SYS_openat, AT_FDCWD, "/proc/thread-self/mem", O_RDONLY | O_CLOEXEC));
  if (fd < 0) {
    return false;
  }
  const auto got = syscall(SYS_pread64, fd, to, bytes, reinterpret_cast<uintptr_t>(from));
  syscall(SYS_close, fd);
  return got == static_cast<long>(bytes);
}

}  // namespace

// Uses raw system calls because the libc functions are cancellation points. Passes the calling thread's id: after the
// main thread has called pthread_exit(), process_vm_readv(getpid()) and /proc/self find no memory. Calls gettid each
// time: after a fork that the library did not notice, a stored id would name the parent's memory.
bool safe_read(const void* from, void* to, size_t bytes) {
  const KeepErrno keep_errno;
  if (load_relaxed(&vm_read_refused) == 0) {
    const iovec local = {to, bytes};
    const iovec remote = {const_cast<void*>(from), bytes};
    const auto got = syscall(SYS_process_vm_readv, syscall(SYS_gettid), &local, 1, &remote, 1, 0);
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
