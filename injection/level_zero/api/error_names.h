// Names of Level Zero's error codes.
#pragma once

#include <level_zero/ze_api.h>

namespace gpuprof::injection::level_zero {

// Returns "ZE_RESULT_ERROR_DEVICE_LOST". Null: an unknown code, or no error.
const char* error_name(ze_result_t result);

}  // namespace gpuprof::injection::level_zero
