// An event about a process, for the stack engine: its mappings changed, it runs a Python interpreter, or it ended.
#pragma once

#include <cstdint>
#include <memory>

#include "symbolize/process_maps.h"
#include "wire/stack.h"

namespace gpuprof::record {

struct ProcessEvent {
  enum class What : uint8_t { mapped, python, ended };
  What what = What::mapped;
  uint32_t pid = 0;
  std::shared_ptr<const symbolize::ProcessMaps> maps;  // set for `mapped`
  gpuprof_python_layout layout{};                      // set for `python`
};

}  // namespace gpuprof::record
