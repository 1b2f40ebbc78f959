// Injects a library into a running process by ptrace. Stops a thread that waits in the kernel or runs code outside libc
// and the loader. Makes that thread create a memfd with the library, load it and call its gpuprof_attach(). Then lets
// the thread continue where it was stopped. See docs/decisions.md.
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
  // "libgpuprof_cupti.so": the memfd's name, and the base name of its mappings.
  std::string file_name;
  std::span<const unsigned char> bytes;
  std::string socket;  // abstract name of the recorder's socket, without the leading NUL
  std::string token;
  // The injection polls this function, and ends early when it returns true.
  std::function<bool()> stop;
};

struct Injection {
  UniqueFd file;  // the library's file as the target has mapped it
  // The path "/proc/self/fd/N" of `file`. The stack engine attaches its probe to this path. Valid while `file` is open.
  std::string path;
  bool was_there = false;  // true: the process had already mapped the library for an earlier recording
};

// Injects the library and starts its thread in the target. After success, the library connects to the socket a moment
// later. If another recording of the process has just ended, waits up to GPUPROF_LEAVE_WAIT_NS until that recording's
// library has left. Fails if a step makes no progress for 5 s. Restores the thread even if a step fails. Once `stop`
// returns true, returns within about a second (see inject_child.h). Leaves a process alone that no longer matches
// `who`. Each error is one line, for example: no right to trace, no dlopen, seccomp.
Result<Injection> inject(const InjectionRequest& request);

}  // namespace gpuprof::record
