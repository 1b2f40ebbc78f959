// Devices by number, and their clocks.
#pragma once

#include <cstdint>

#include "opencl/dispatch.h"

namespace gpuprof::injection::opencl {

constexpr uint32_t kMaxDevices = 64;  // later ones share the last number

// The number of a device, in the order in which they were first seen.
uint32_t device_index(cl_device_id device);

// Sends the device's name where the recorder does not have it yet.
void announce_device(uint32_t index);

// The device's clock against CLOCK_MONOTONIC: what to add to a time stamp of the device. Each completed command
// shows an upper bound (it ended before we were told so); the least one of the last seconds is taken, so that the
// clocks may drift. Durations never depend on it.
int64_t clock_offset(uint32_t index, uint64_t device_end_ns, uint64_t now);

}  // namespace gpuprof::injection::opencl
