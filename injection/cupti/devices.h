// Names of the GPUs, asked of the driver that the target has loaded.
#pragma once

namespace gpuprof::injection::cupti {

// cuDriverGetVersion; 0 when the driver can not be asked. Works before cuInit has returned.
int driver_version();

// Emits a DEVICE record for every GPU that the process sees. Only once cuInit is done, and from a thread of ours:
// in a callback of CUPTI's it could wait for a lock of the driver that the caller holds.
void emit_devices();

}  // namespace gpuprof::injection::cupti
