// record -p: uprobes on the launch functions of a running process, without a library of ours in it.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "backend/backend.h"
#include "base/result.h"
#include "record/stack_engine.h"

namespace gpuprof::record {

// Attaches to every launch function that the process has mapped, each (file, offset) once. The value names the
// functions, by the index that the engine reports.
Result<std::vector<std::string>> attach_launch_functions(uint32_t pid,
                                                         const std::vector<std::unique_ptr<backend::Backend>>& backends,
                                                         StackEngine& engine);

}  // namespace gpuprof::record
