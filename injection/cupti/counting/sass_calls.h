// CUPTI's SASS metrics, call by call: one device is set up, one context is switched on, read and switched off.
#pragma once

#include <cstdint>

#include "cupti/api/cupti_api.h"

namespace gpuprof::injection::cupti {

// Has CUPTI count these metrics (their names, ',' between) on the device: once a process, as it takes no second
// configuration. Ones that the device does not have are told of and left out. 12 ms.
CUptiResult configure_counts(uint32_t device, const char* metrics);

// From the next launch on. A function is patched when it first runs, which takes 2 ms.
CUptiResult enable_counts(CUcontext context);
CUptiResult disable_counts(CUcontext context);

// Emits what was counted since the last time, as COUNT records. Waits until the context's kernels have ended: never in
// a launch.
void read_counts(CUcontext context, uint32_t device, uint32_t ring, bool may_wait);

}  // namespace gpuprof::injection::cupti
