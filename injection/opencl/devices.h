// Numbers devices and converts their clocks.
#pragma once

#include <cstdint>

#include "opencl/dispatch.h"

namespace gpuprof::injection::opencl {

constexpr uint32_t kMaxDevices = 64;  // Devices beyond this limit all get the last number.

// Returns the number of a device. Devices are numbered in the order of their first use.
uint32_t device_index(cl_device_id device);

// Sends the device's name unless the recorder has it.
void announce_device(uint32_t index);

// Returns the ns to add to a device time to get CLOCK_MONOTONIC. A command ends before its callback runs, so each
// completed command gives an upper bound of this offset. The result is the lowest upper bound of the last seconds, so
// the clocks may drift. Durations do not depend on the offset.
int64_t clock_offset(uint32_t index, uint64_t device_end_ns, uint64_t now);

}  // namespace gpuprof::injection::opencl
