// The target's errno is none of our business: a program may look at it after a call that we hook, a signal handler or a
// fork handler of ours may run between its call and its look.
#pragma once

#include <cerrno>

namespace gpuprof::injection {

class KeepErrno {
 public:
  KeepErrno() : before_(errno) {}
  ~KeepErrno() { errno = before_; }
  KeepErrno(const KeepErrno&) = delete;
  KeepErrno& operator=(const KeepErrno&) = delete;

 private:
  int before_;
};

}  // namespace gpuprof::injection
