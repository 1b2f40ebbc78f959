#pragma once

#include "base/keep_errno.h"
#include "base/thread_state.h"

namespace gpuprof::injection {

// Marks the current thread as running injection code. The injection library's callbacks must ignore calls that this
// thread then makes into vendor libraries. Preserves errno.
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
  // Returns false if the thread is already inside a Guard: the caller must then do nothing.
  [[nodiscard]] bool entered() const { return entered_; }

 private:
  KeepErrno keep_errno_;
  ThreadState& thread_;
  bool entered_;
};

}  // namespace gpuprof::injection
