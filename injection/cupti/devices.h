// Names and uuids of the GPUs, asked of the driver that the target has loaded.
#pragma once

namespace gpuprof::injection::cupti {

// Looks the driver up, for emit_devices() as well. cuDriverGetVersion; 0 when the driver can not be asked. Works before
// cuInit has returned.
int driver_version();

// Emits a DEVICE record for every GPU that the process sees, once a connection. Only when cuInit is done, and at the
// beginning of a call: in CUPTI's other callbacks the driver may hold locks that it asks for again.
void emit_devices();

}  // namespace gpuprof::injection::cupti
