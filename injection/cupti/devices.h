// Names and uuids of the GPUs, asked of the driver that the target has loaded.
#pragma once

#include "cupti/api/cupti_api.h"

namespace gpuprof::injection::cupti {

// Looks the driver up, for emit_devices() as well. cuDriverGetVersion; 0 when the driver can not be asked. Works before
// cuInit has returned.
int driver_version();

// Of a kernel or of a library's kernel; null where the driver does not know it, or can not be asked (before CUDA 12.3).
const char* function_name(CUfunction function);

// Emits a DEVICE record for every GPU that the process sees, once a connection. Only when cuInit is done, and at the
// beginning of a call: in CUPTI's other callbacks the driver may hold locks that it asks for again.
void emit_devices();

}  // namespace gpuprof::injection::cupti
