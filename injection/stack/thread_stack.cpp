#include "stack/thread_stack.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/atomics.h"
#include "base/keep_errno.h"

namespace gpuprof::injection {
namespace {

uint64_t main_stack_end = 0;

constexpr uint32_t kMaxPause = 1U << 20;
constexpr uint64_t kPage = 4096;

struct Mapping {
  uint64_t begin;
  uint64_t end;
  bool readable;
  bool writable;
};

// Reads lines of the process's maps ("begin-end rwxp ...") through a small buffer. It does not read /proc/self/maps,
// which would be empty after the main thread has called pthread_exit().
class MapsReader {
 public:
  MapsReader(char* buffer, size_t bytes) : buffer_(buffer), bytes_(bytes) {
    fd_ = static_cast<int>(syscall(SYS_openat, AT_FDCWD, "/proc/thread-self/maps", O_RDONLY | O_CLOEXEC));
  }
  ~MapsReader() {
    if (fd_ >= 0) {
      syscall(SYS_close, fd_);
    }
  }
  MapsReader(const MapsReader&) = delete;
  MapsReader& operator=(const MapsReader&) = delete;

  bool next(Mapping* mapping) {
    char read = 0;
    char write = 0;
    if (!number('-', &mapping->begin) || !number(' ', &mapping->end) || !character(&read) || !character(&write)) {
      return false;
    }
    mapping->readable = read == 'r';
    mapping->writable = write == 'w';
    char c = 0;
    while (c != '\n') {
      if (!character(&c)) {
        return false;
      }
    }
    return true;
  }

 private:
  bool character(char* c) {
    if (at_ == filled_) {
      const auto got = fd_ < 0 ? -1 : syscall(SYS_read, fd_, buffer_, bytes_);
      if (got <= 0) {
        return false;
      }
      at_ = 0;
      filled_ = static_cast<size_t>(got);
    }
    *c = buffer_[at_++];
    return true;
  }

  bool number(char end, uint64_t* value) {
    *value = 0;
    for (char c = 0; character(&c);) {
      if (c == end) {
        return true;
      }
      const bool digit = c >= '0' && c <= '9';
      if (!digit && (c < 'a' || c > 'f')) {
        return false;
      }
      *value = *value << 4U | static_cast<uint64_t>(digit ? c - '0' : c - 'a' + 10);
    }
    return false;
  }

  char* buffer_;
  size_t bytes_;
  size_t at_ = 0;
  size_t filled_ = 0;
  int fd_;
};

// Returns the stack's range in the mapping. The stack of the main thread ends where the loader says, because the main
// thread's control block may be anywhere, even in the mapping of a coroutine's stack. The stack of any other thread
// ends at the thread's control block.
StackRange range_in(const Mapping& mapping, bool guarded, uint64_t sp) {
  const auto control_block = reinterpret_cast<uint64_t>(pthread_self());
  const bool is_main = syscall(SYS_gettid) == syscall(SYS_getpid);
  uint64_t high = 0;
  if (main_stack_end > sp && main_stack_end <= mapping.end) {
    high = main_stack_end;
    guarded = true;  // the kernel keeps a gap below a growing stack, like a guard page
  } else if (!is_main && control_block > sp && control_block < mapping.end) {
    high = control_block;
  }
  // Without a guard page, other memory may precede the stack, and may be unmapped. So the range begins at sp's page.
  const uint64_t low = guarded ? mapping.begin : sp & ~(kPage - 1);
  return high == 0 ? StackRange{0, 0} : StackRange{low, high & ~uint64_t{7}};
}

StackRange look(uint64_t sp, char* buffer, size_t bytes) {
  const KeepErrno keep_errno;
  MapsReader maps(buffer, bytes);
  Mapping mapping = {};
  Mapping before = {};
  while (maps.next(&mapping) && mapping.begin <= sp) {
    if (sp < mapping.end) {
      const bool guarded = before.end == mapping.begin && !before.readable && !before.writable;
      return mapping.readable && mapping.writable ? range_in(mapping, guarded, sp) : StackRange{0, 0};
    }
    before = mapping;
  }
  return {0, 0};
}

// If a signal handler runs between the stores, it sees an empty range.
void set_range(ThreadState& thread, const StackRange& range) {
  thread.stack_high = 0;
  __atomic_signal_fence(__ATOMIC_SEQ_CST);
  thread.stack_low = range.low;
  __atomic_signal_fence(__ATOMIC_SEQ_CST);
  thread.stack_high = range.high;
}

}  // namespace

// Reads the maps again if `sp` is outside of the known range, because the stack has grown or is another stack. After
// each such read, doubles the number of launches before the next one, up to a limit.
StackRange own_stack(ThreadState& thread, uint64_t sp, char* buffer, size_t bytes) {
  if (!within({thread.stack_low, thread.stack_high}, sp)) {
    if (thread.stack_pause > 0) {
      --thread.stack_pause;
    } else {
      const uint32_t looks = thread.stack_reads == 0 ? 1 : thread.stack_reads;
      thread.stack_pause = looks;
      thread.stack_reads = looks < kMaxPause ? looks * 2 : kMaxPause;
      if (const StackRange range = look(sp, buffer, bytes); range.high != 0) {
        set_range(thread, range);
      }
    }
  }
  return {thread.stack_low, thread.stack_high};
}

void find_main_stack() {
  if (main_stack_end != 0) {
    return;
  }
  if (const void* end = dlsym(RTLD_DEFAULT, "__libc_stack_end"); end != nullptr) {
    main_stack_end = *static_cast<const uint64_t*>(end);
  }
}

}  // namespace gpuprof::injection
