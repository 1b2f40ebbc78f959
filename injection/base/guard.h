// Keeps what our own code causes in the vendors' libraries from coming back to us as if the target had done it.
#pragma once

#include "base/keep_errno.h"
#include "base/thread_state.h"

namespace gpuprof::injection {

// Our own code is running on this thread: callbacks caused by it must be ignored. Leaves errno as it was.
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
  [[nodiscard]] bool entered() const { return entered_; }  // false: already inside, do nothing

 private:
  KeepErrno keep_errno_;
  ThreadState& thread_;
  bool entered_;
};

}  // namespace gpuprof::injection
