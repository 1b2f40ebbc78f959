// Reads names and UUIDs of GPUs from the driver that the target has loaded.
#pragma once

#include "cupti/api/cupti_api.h"

namespace gpuprof::injection::cupti {

// Looks up the driver's functions. Returns the driver version (cuDriverGetVersion), or 0 without a driver. Can be
// called before cuInit returns.
int driver_version();

// Returns the name of a CUfunction or CUkernel. Returns null if it is unknown, or if the driver is older than CUDA
// 12.3.
const char* function_name(CUfunction function);

// Emits a DEVICE record for every GPU that is visible to the process, once per connection. Call it only after cuInit,
// in a callback for the beginning of a call. In other CUPTI callbacks, the driver may hold locks that these functions
// need.
void emit_devices();

}  // namespace gpuprof::injection::cupti
