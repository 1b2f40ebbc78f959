// Reads names and UUIDs of GPUs from the driver that the target has loaded.
#pragma once

#include "cupti/api/cupti_api.h"

namespace gpuprof::injection::cupti {

// Looks up the driver's functions. Returns cuDriverGetVersion, or 0 without a driver. Works before cuInit returns.
int driver_version();

// Returns the name of a CUfunction or CUkernel. Null: unknown, or the driver lacks the function (before CUDA 12.3).
const char* function_name(CUfunction function);

// Emits a DEVICE record for every GPU visible to the process, once per connection. Call it only after cuInit and at the
// beginning of a call: in other CUPTI callbacks the driver may hold locks that these functions need.
void emit_devices();

}  // namespace gpuprof::injection::cupti
