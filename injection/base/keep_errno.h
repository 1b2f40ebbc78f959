// Preserves the target's errno: a program may read errno after a call that the injection library hooks. Signal handlers
// and fork handlers of the library may run between that call and the read.
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
