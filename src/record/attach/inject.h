// Injects a library into a running process by ptrace. Stops one of its threads, which waits in the kernel or runs
// code outside libc and the loader. That thread opens a memfd with the library, calls the library's gpuprof_attach(),
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
  std::function<bool()> stop;  // polled during the injection, which ends if this returns true
};

struct Injection {
  UniqueFd file;  // the library that the target has mapped
  // "/proc/self/fd/N" of `file`, valid while `file` is open. The stack engine attaches its probe to this path.
  std::string path;
  bool was_there = false;  // an earlier recording has already mapped the library
};

// Injects the library and starts its thread in the target. On success, the library connects to the socket a moment
// later. If another recording of the process has just ended, waits up to GPUPROF_LEAVE_WAIT_NS until that recording's
// library has left. A step without progress fails after 5 s. The thread is restored even if a step fails. Returns
// within about a second once `stop` returns true, see inject_child.h. Does not touch a process that no longer matches
// `who`. Each error is one line, such as: no right to trace, no dlopen, seccomp, another network namespace.
Result<Injection> inject(const InjectionRequest& request);

}  // namespace gpuprof::record
