#include "base/thread_state.h"

#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace gpuprof::injection {

void read_thread(ThreadState& thread) {
  thread.tid = static_cast<uint32_t>(syscall(SYS_gettid));
  prctl(PR_GET_NAME, thread.name);
}

uint32_t thread_id() {
  ThreadState& thread = thread_state();
  if (thread.tid == 0) {
    read_thread(thread);
  }
  return thread.tid;
}

void reset_thread(ThreadState& thread) {
  const bool writing = thread.in_write != 0;
  const uint32_t guarded = thread.in_guard;
  thread = {};
  thread.in_guard = guarded;
  thread.in_write = writing ? 1 : 0;
}

}  // namespace gpuprof::injection
