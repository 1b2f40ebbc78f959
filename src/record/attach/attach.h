// Starts the recording of a running process (record -p). An injected library reports GPU times. If the injection fails,
// uprobes on the launch functions count launches per stack.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "backend/backend.h"
#include "base/result.h"
#include "record/attach/inject.h"
#include "record/bpf/stack_engine.h"
#include "symbolize/process_maps.h"

namespace gpuprof::record {

struct AttachChannel {
  std::string socket;  // abstract name, without the leading NUL
  std::string token;
  std::function<bool()> stop;
};

// Selects the backend for the vendor library that the process has mapped (see Backend::attaches()) and injects its
// library. The error says why the injection failed.
Result<Injection> attach_by_injection(const TracedIdentity& who,
                                      const std::vector<std::unique_ptr<backend::Backend>>& backends,
                                      const AttachChannel& channel);

// A launch function that is probed.
struct LaunchProbe {
  std::string function;
  std::shared_ptr<symbolize::MappedFile> file;
  uint64_t file_offset = 0;
};

// Registers the process with the engine. Then attaches a uprobe to every launch function that the process has mapped,
// once for each file and offset. The engine reports each launch with an index into the returned list.
Result<std::vector<LaunchProbe>> attach_launch_functions(uint32_t pid,
                                                         const std::vector<std::unique_ptr<backend::Backend>>& backends,
                                                         StackEngine& engine);

// Attaches the probes to a process that has mapped the files or maps them later. `pid` 0: see
// StackEngine::attach_function().
Status attach_probes(const std::vector<LaunchProbe>& probes, uint32_t pid, StackEngine& engine);

}  // namespace gpuprof::record
