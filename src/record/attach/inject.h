// Brings an injection library into a running process, by ptrace. One of its threads, at a moment in which it waits in
// the kernel or runs code that is neither libc's nor the loader's, is made to open a memfd with the library and to call
// gpuprof_attach() in it, and then goes on where it was. See docs/decisions.md.
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
  std::string file_name;  // "libgpuprof_cupti.so": the memfd's name, and how its mappings are known
  std::span<const unsigned char> bytes;
  std::string socket;  // abstract name of the recorder's socket, without the leading NUL
  std::string token;
  std::function<bool()> stop;  // asked again and again: whether there is no reason to go on
};

struct Injection {
  UniqueFd file;     // the library as the target has mapped it
  std::string path;  // "/proc/self/fd/N" of `file`: where the stack engine attaches its probe, while `file` is open
  bool was_there = false;  // the library was mapped already, by an earlier recording
};

// Waits for a recording that has just ended to leave, for GPUPROF_LEAVE_WAIT_NS. Gives up on a step after five seconds
// without progress, and gives the thread back where it was, also when a step fails. Answers within about a second of
// `stop`, see inject_child.h. Nothing is done to a process that is not the one of `who` any more. Success means that
// the library's own thread has been started in the target; it connects to the socket a moment later. The error's
// message is one line with the reason: no right to trace, no dlopen in the program, seccomp, another network namespace,
// no thread in a safe place...
Result<Injection> inject(const InjectionRequest& request);

}  // namespace gpuprof::record
