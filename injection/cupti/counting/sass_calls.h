// Wraps CUPTI's SASS metrics: configure a device; enable, read and disable a context.
#pragma once

#include <cstddef>
#include <cstdint>

#include "cupti/api/cupti_api.h"

namespace gpuprof::injection::cupti {

// Configures these metrics (separated by ',') on the device, which takes 12 ms. CUPTI accepts no second configuration
// in a process. Reports and ignores metrics that the device does not have. `count`: receives how many it has.
CUptiResult configure_counts(uint32_t device, const char* metrics, size_t* count);

// Enables counting for later launches. CUPTI patches each function when it first runs, which takes 2 ms.
CUptiResult enable_counts(CUcontext context);
CUptiResult disable_counts(CUcontext context);

// Emits COUNT records of the counts since the last read. Waits for the context's kernels, so never call it in a launch.
void read_counts(CUcontext context, uint32_t device, uint32_t ring, bool may_wait);

}  // namespace gpuprof::injection::cupti
