// Numbers devices and converts their clocks.
#pragma once

#include <cstdint>

#include "opencl/dispatch.h"

namespace gpuprof::injection::opencl {

constexpr uint32_t kMaxDevices = 64;  // further devices share the last number

// Returns the number of a device, in order of first use.
uint32_t device_index(cl_device_id device);

// Sends the device's name unless the recorder has it.
void announce_device(uint32_t index);

// Returns what to add to a device time for CLOCK_MONOTONIC. Each completed command gives an upper bound, since it ended
// before its callback. The lowest bound of the last seconds counts, so that the clocks may drift. Durations do not
// depend on it.
int64_t clock_offset(uint32_t index, uint64_t device_end_ns, uint64_t now);

}  // namespace gpuprof::injection::opencl
