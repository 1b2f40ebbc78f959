#include "level_zero/devices.h"

#include <cstdio>
#include <cstring>

#include "base/atomics.h"
#include "base/monotonic_clock.h"
#include "base/uuid_text.h"
#include "ipc/emit.h"
#include "level_zero/clock.h"
#include "runtime/lifecycle.h"

namespace gpuprof::injection::level_zero {
namespace {

constexpr uint32_t kMaxHandles = 16;  // limit on the number of drivers, and on the devices of each driver
// Clocks are read again after this time. Until then they drift by some microseconds.
constexpr uint64_t kMeasureAgainNs = 500000000;

struct Device {
  ze_device_handle_t handle;
  ze_driver_handle_t driver;
  uint32_t parent_plus_one;  // number of the parent device plus 1; 0: the device is not a sub-device
  uint32_t announced_to;     // id of the source that has announced this device
  uint32_t lock;
  bool asked;  // the rate of the device's clock is known
  uint64_t measured_ns;
  Clock clock;
};

constinit Device devices[kMaxDevices] = {};
uint32_t device_count = 0;
uint32_t devices_lock = 0;
bool listed = false;

uint32_t find_device(ze_device_handle_t handle) {
  const uint32_t count = load_acquire(&device_count);
  for (uint32_t i = 0; i < count; ++i) {
    if (devices[i].handle == handle) {
      return i;
    }
  }
  return kMaxDevices;
}

uint32_t add_device(ze_device_handle_t handle, ze_driver_handle_t driver, uint32_t parent_plus_one = 0) {
  uint32_t index = find_device(handle);
  if (index < kMaxDevices) {
    return index;
  }
  index = device_count < kMaxDevices ? device_count : kMaxDevices - 1;
  if (device_count < kMaxDevices) {
    devices[index].handle = handle;
    devices[index].driver = driver;
    devices[index].parent_plus_one = parent_plus_one;
    store_release(&device_count, index + 1);
  }
  return index;
}

void add_with_parts(ze_device_handle_t handle, ze_driver_handle_t driver) {
  const uint32_t whole = add_device(handle, driver);
  ze_device_handle_t parts[kMaxHandles] = {};
  uint32_t count = kMaxHandles;
  if (api.zeDeviceGetSubDevices(handle, &count, parts) == ZE_RESULT_SUCCESS) {
    for (uint32_t i = 0; i < count && i < kMaxHandles; ++i) {
      add_device(parts[i], driver, whole + 1);
    }
  }
}

void list_devices() {
  ze_driver_handle_t drivers[kMaxHandles] = {};
  uint32_t driver_count = kMaxHandles;
  if (api.zeDriverGet(&driver_count, drivers) != ZE_RESULT_SUCCESS) {
    return;
  }
  for (uint32_t i = 0; i < driver_count && i < kMaxHandles; ++i) {
    ze_device_handle_t handles[kMaxHandles] = {};
    uint32_t count = kMaxHandles;
    if (api.zeDeviceGet(drivers[i], &count, handles) == ZE_RESULT_SUCCESS) {
      for (uint32_t k = 0; k < count && k < kMaxHandles; ++k) {
        add_with_parts(handles[k], drivers[i]);
      }
    }
  }
}

// Reads properties. The requested structure type determines the unit of timerResolution. Drivers before 1.2 know only
// the type with nanoseconds. `cycles` is set if the unit is cycles per second. The answer's structure type does not say
// so, because a driver may overwrite it.
bool get_properties(const Device& device, ze_device_properties_t* properties, bool* cycles = nullptr) {
  ze_api_version_t version = ZE_API_VERSION_1_0;
  const bool newer =
      device.driver == nullptr ||
      (api.zeDriverGetApiVersion(device.driver, &version) == ZE_RESULT_SUCCESS && version >= ZE_API_VERSION_1_2);
  *properties = {};
  if (cycles != nullptr) {
    *cycles = newer;
  }
  properties->stype = newer ? ZE_STRUCTURE_TYPE_DEVICE_PROPERTIES_1_2 : ZE_STRUCTURE_TYPE_DEVICE_PROPERTIES;
  return api.zeDeviceGetProperties(device.handle, properties) == ZE_RESULT_SUCCESS;
}

void ask_clock(Device& device) {
  ze_device_properties_t properties = {};
  bool cycles = false;
  if (!get_properties(device, &properties, &cycles) || properties.timerResolution == 0) {
    return;
  }
  device.asked = true;
  if (cycles) {
    device.clock.cycles_per_second = properties.timerResolution;
  } else {
    device.clock.ns_per_cycle = properties.timerResolution;
  }
  device.clock.mask = mask_of_bits(properties.timestampValidBits) & mask_of_bits(properties.kernelTimestampValidBits);
}

// Reads the device time, and pairs it with the host time at the middle of the driver's call. Makes three calls and uses
// the shortest one, because it is the most exact.
bool measure(Device& device) {
  uint64_t shortest = UINT64_MAX;
  for (int i = 0; i < 3; ++i) {
    uint64_t host = 0;
    uint64_t time = 0;
    const uint64_t before = now_ns();
    if (api.zeDeviceGetGlobalTimestamps(device.handle, &host, &time) != ZE_RESULT_SUCCESS || (host == 0 && time == 0)) {
      return false;
    }
    const uint64_t took = now_ns() - before;
    if (took < shortest) {
      shortest = took;
      device.clock.host_ns = before + took / 2;
      device.clock.device = time & device.clock.mask;
    }
  }
  device.measured_ns = now_ns();
  return true;
}

// Returns the clock with a recent reading. If this returns false, the times of the work are lost.
bool read_clock(Device& device, Clock* clock) {
  if (!try_lock_long(&device.lock)) {
    return false;
  }
  if (!device.asked) {
    ask_clock(device);
  }
  bool known = device.asked;
  if (known && (device.measured_ns == 0 || now_ns() - device.measured_ns > kMeasureAgainNs)) {
    known = measure(device);
  }
  *clock = device.clock;
  unlock(&device.lock);
  return known;
}

// Reports the driver version, because comparisons of recordings require equal versions.
void announce_driver(ze_driver_handle_t driver) {
  ze_driver_properties_t properties = {};
  properties.stype = ZE_STRUCTURE_TYPE_DRIVER_PROPERTIES;
  if (driver != nullptr && api.zeDriverGetProperties(driver, &properties) == ZE_RESULT_SUCCESS) {
    char text[64];
    snprintf(text, sizeof(text), "Level Zero %u.%u.%u", properties.driverVersion >> 24U,
             properties.driverVersion >> 16U & 0xFFU, properties.driverVersion & 0xFFFFU);
    meta("gpu.driver", text);
  }
}

}  // namespace

uint32_t device_index(ze_device_handle_t handle) {
  uint32_t index = find_device(handle);
  if (index < kMaxDevices || !try_lock_bounded(&devices_lock)) {
    return index < kMaxDevices ? index : kMaxDevices - 1;
  }
  if (!listed) {
    listed = true;
    list_devices();
  }
  index = add_device(handle, nullptr);
  unlock(&devices_lock);
  return index;
}

uint32_t parent_of(uint32_t index) {
  return devices[index].parent_plus_one != 0 ? devices[index].parent_plus_one - 1 : index;
}

uint32_t sub_devices_of(uint32_t index, uint32_t* parts, uint32_t most) {
  uint32_t count = 0;
  for (uint32_t i = 0; i < load_acquire(&device_count); ++i) {
    if (devices[i].parent_plus_one == index + 1) {
      if (count < most) {
        parts[count] = i;
      }
      ++count;
    }
  }
  return count;
}

ze_device_handle_t handle_of(uint32_t index) {
  return devices[index].handle;
}

ze_driver_handle_t driver_of(uint32_t index) {
  return devices[index].driver;
}

uint32_t core_mhz(uint32_t index) {
  ze_device_properties_t properties = {};
  return get_properties(devices[index], &properties) ? properties.coreClockRate : 0;
}

uint32_t own_index(ze_device_handle_t handle) {
  const uint32_t index = device_index(handle);
  return devices[index].handle == handle ? index : UINT32_MAX;
}

ze_driver_handle_t driver_of(ze_device_handle_t handle) {
  const uint32_t index = own_index(handle);
  return index == UINT32_MAX ? nullptr : devices[index].driver;
}

void announce_device(uint32_t index) {
  Device& known = devices[index];
  const uint32_t announced_to = load_relaxed(&known.announced_to);
  if (announced_to == source() || !swap_if(&known.announced_to, announced_to, source())) {
    return;
  }
  ze_device_properties_t properties = {};
  if (!get_properties(known, &properties)) {
    device(index, nullptr, nullptr);
    return;
  }
  char name[ZE_MAX_DEVICE_NAME + 32];
  properties.name[ZE_MAX_DEVICE_NAME - 1] = '\0';
  if ((properties.flags & ZE_DEVICE_PROPERTY_FLAG_SUBDEVICE) != 0) {
    snprintf(name, sizeof(name), "%s, sub-device %u", properties.name, properties.subdeviceId);
  } else {
    snprintf(name, sizeof(name), "%s", properties.name);
  }
  device(index, name, UuidText("", properties.uuid.id).text);
  announce_driver(known.driver);
}

bool host_times(uint32_t index, const ze_kernel_timestamp_data_t& times, HostTimes* result) {
  Clock clock;
  if (!read_clock(devices[index], &clock) || (times.kernelStart == 0 && times.kernelEnd == 0)) {
    return false;
  }
  const uint64_t start = times.kernelStart & clock.mask;
  if (start == clock.mask && (times.kernelEnd & clock.mask) == clock.mask) {
    return false;  // drivers leave this value in events that were never signaled
  }
  const uint64_t cycles = cycles_between(clock, start, times.kernelEnd & clock.mask);
  // If the difference exceeds half of the counter's range, the end is before the start.
  if (cycles > clock.mask / 2) {
    return false;
  }
  result->start_ns = host_time(clock, start);
  result->end_ns = result->start_ns + cycles_to_ns(clock, cycles);
  return true;
}

void forget_devices() {
  devices_lock = 0;
  for (Device& device : devices) {
    device.lock = 0;
    device.measured_ns = 0;
  }
}

}  // namespace gpuprof::injection::level_zero
