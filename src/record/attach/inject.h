// Injects a library into a running process by ptrace. Stops a thread of the process that waits in the kernel or runs
// code outside libc and the loader. The thread opens a memfd with the library, calls the library's gpuprof_attach(),
// and resumes where it was stopped. See docs/decisions.md.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <span>
#include <string>

#include "base/result.h"
#include "base/unique_fd.h"
#include "record/attach/traced_identity.h"

namespace gpuprof::record {

struct InjectionRequest {
  const TracedIdentity& who;
  std::string file_name;  // "libgpuprof_cupti.so": the memfd's name and the base name of its mappings
  std::span<const unsigned char> bytes;
  std::string socket;  // abstract name of the recorder's socket, without the leading NUL
  std::string token;
  std::function<bool()> stop;  // polled: true ends the injection
};

struct Injection {
  UniqueFd file;  // the library that the target has mapped
  std::string
      path;  // "/proc/self/fd/N" of `file`, valid while `file` is open: the stack engine attaches its probe to it
  bool was_there = false;  // an earlier recording has already mapped the library
};

// Injects the library and starts its thread in the target. On success, the library connects to the socket a moment
// later. If the last recording has just ended, waits up to GPUPROF_LEAVE_WAIT_NS for its library to leave. A step
// without progress fails after 5 s. The thread is restored even if a step fails. Returns within about a second once
// `stop` returns true, see inject_child.h. Does not touch a process that no longer matches `who`. Errors have one line:
// no right to trace, no dlopen, seccomp, another network namespace, no safe thread...
Result<Injection> inject(const InjectionRequest& request);

}  // namespace gpuprof::record
