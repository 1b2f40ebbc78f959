// The code that samples are of: modules are known by the CRC of their code, as CUPTI's samples name them.
#pragma once

#include <cstdint>

#include "cupti/api/cupti_api.h"
#include "runtime/kept_code.h"

namespace gpuprof::injection::cupti {

// In the callback for a module that has been loaded, whose code is there for that long only. The key of it is
// cuptiGetCubinCrc()'s.
void keep_code(const CUpti_ModuleResourceData& module);

}  // namespace gpuprof::injection::cupti
