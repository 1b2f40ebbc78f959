// Marks the injection library's own calls into vendor libraries, so that its callbacks ignore these calls.
#pragma once

#include "base/keep_errno.h"
#include "base/thread_state.h"

namespace gpuprof::injection {

// Marks the current thread as running injection code. Callbacks on this thread must then do nothing. Preserves errno.
class Guard {
 public:
  Guard() : thread_(thread_state()), entered_(thread_.in_guard == 0) { thread_.in_guard = 1; }
  ~Guard() {
    if (entered_) {
      thread_.in_guard = 0;
    }
  }
  Guard(const Guard&) = delete;
  Guard& operator=(const Guard&) = delete;
  [[nodiscard]] bool entered() const { return entered_; }  // false: the thread is already inside a Guard; do nothing

 private:
  KeepErrno keep_errno_;
  ThreadState& thread_;
  bool entered_;
};

}  // namespace gpuprof::injection
