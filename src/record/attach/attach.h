// record -p: how a running process is recorded. With a library of ours brought into it where that is possible, which
// gives durations; else with uprobes on its launch functions, which count launches per stack.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "backend/backend.h"
#include "base/result.h"
#include "record/attach/inject.h"
#include "record/bpf/stack_engine.h"

namespace gpuprof::record {

// Where the brought-in library finds us.
struct AttachChannel {
  std::string socket;  // abstract name, without the leading NUL
  std::string token;
  std::function<bool()> stop;  // as in InjectionRequest
};

// Brings in the library of the one backend whose vendor library the process has mapped (Backend::attaches_to). The
// error says why launches can only be counted.
Result<Injection> attach_by_injection(const TracedIdentity& who,
                                      const std::vector<std::unique_ptr<backend::Backend>>& backends,
                                      const AttachChannel& channel);

// Uprobes on every launch function that the process has mapped, each (file, offset) once, once the engine is ready for
// the process. The value names the functions, by the index that the engine reports.
Result<std::vector<std::string>> attach_launch_functions(uint32_t pid,
                                                         const std::vector<std::unique_ptr<backend::Backend>>& backends,
                                                         StackEngine& engine);

}  // namespace gpuprof::record
