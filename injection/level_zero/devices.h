// Devices by number, and their clocks.
#pragma once

#include <cstdint>

#include "level_zero/api.h"

namespace gpuprof::injection::level_zero {

constexpr uint32_t kMaxDevices = 64;  // later ones share the last number

// The number of a device or sub-device, in the order of the drivers.
uint32_t device_index(ze_device_handle_t device);
// The same, but UINT32_MAX of one that shares its number.
uint32_t own_index(ze_device_handle_t device);

// The number of the device that it is a part of; its own where it is none.
uint32_t whole_of(uint32_t index);
// Its parts: how many there are, and the numbers of the first `most` of them.
uint32_t parts_of(uint32_t index, uint32_t* parts, uint32_t most);

ze_device_handle_t handle_of(uint32_t index);
ze_driver_handle_t driver_of(uint32_t index);  // null: none that we know lists it

// Cycles of the device's core in a microsecond; 0: it does not say.
uint32_t core_mhz(uint32_t index);

// The driver that lists the device, or what it is a part of; null: none that we know.
ze_driver_handle_t driver_of(ze_device_handle_t device);

// Sends the device's name where the recorder does not have it yet.
void announce_device(uint32_t index);

struct HostTimes {
  uint64_t start_ns;
  uint64_t end_ns;  // exactly as long after `start_ns` as the device says
};
// Of work that has ended. False: the device's clock can not be read, or the times are none.
bool host_times(uint32_t index, const ze_kernel_timestamp_data_t& times, HostTimes* result);

void forget_devices();

}  // namespace gpuprof::injection::level_zero
