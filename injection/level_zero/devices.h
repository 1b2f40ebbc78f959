// Numbers devices and reads their clocks.
#pragma once

#include <cstdint>

#include "level_zero/api/api.h"

namespace gpuprof::injection::level_zero {

constexpr uint32_t kMaxDevices = 64;  // Devices beyond this limit all get the last number.

// Returns the number of a device or sub-device. Devices are numbered in the order in which the drivers list them.
uint32_t device_index(ze_device_handle_t device);
// Returns the device's number. Returns UINT32_MAX if several devices share that number.
uint32_t own_index(ze_device_handle_t device);

// Returns the number of the parent device, or `index` if the device is not a sub-device.
uint32_t parent_of(uint32_t index);
// Returns how many sub-devices the device has. Stores the numbers of at most `most` of them in `parts`.
uint32_t sub_devices_of(uint32_t index, uint32_t* parts, uint32_t most);

ze_device_handle_t handle_of(uint32_t index);
ze_driver_handle_t driver_of(uint32_t index);  // returns null if no known driver has this device

// Returns the core clock in MHz; 0: unknown.
uint32_t core_mhz(uint32_t index);

// Returns the driver that lists the device or its parent. Returns null if no driver does.
ze_driver_handle_t driver_of(ze_device_handle_t device);

// Sends the device's name unless the recorder has it.
void announce_device(uint32_t index);

struct HostTimes {
  uint64_t start_ns;
  uint64_t end_ns;  // start_ns plus the duration, which the device measures exactly
};
// Converts the times of finished work. Returns false if the device's clock cannot be read, or if the times are invalid.
bool host_times(uint32_t index, const ze_kernel_timestamp_data_t& times, HostTimes* result);

void forget_devices();

}  // namespace gpuprof::injection::level_zero
