// Names of CUDA's error codes. CUDA's own functions for these names change the thread's last error.
#pragma once

#include <cstdint>

#include "cupti/api/cupti_api.h"

namespace gpuprof::injection::cupti {

// Returns "cudaErrorInvalidValue", or "CUDA_ERROR_INVALID_VALUE" for a driver function. Null: an unknown code.
const char* error_name(CUpti_CallbackDomain domain, uint32_t code);

}  // namespace gpuprof::injection::cupti
