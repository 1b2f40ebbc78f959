#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <sstream>

#include "driver.h"

namespace gpuprof::mock {
namespace {

constexpr uint64_t kSecond = 1000000000;

struct Switch {
  const char* name;
  bool ZeFaults::*fault;
};
constexpr Switch kSwitches[] = {{"query_error", &ZeFaults::query_error},
                                {"no_query", &ZeFaults::no_query},
                                {"no_events", &ZeFaults::no_events},
                                {"zero_times", &ZeFaults::zero_times},
                                {"reversed_times", &ZeFaults::reversed_times},
                                {"never_finish", &ZeFaults::never_finish},
                                {"append_error", &ZeFaults::append_error},
                                {"mute", &ZeFaults::mute},
                                {"other_type", &ZeFaults::other_type},
                                {"old_driver", &ZeFaults::old_driver},
                                {"wrap", &ZeFaults::wrap},
                                {"reuse", &ZeFaults::reuse},
                                {"same_place", &ZeFaults::same_place},
                                {"no_extension", &ZeFaults::no_extension},
                                {"no_binary", &ZeFaults::no_binary},
                                {"stalls_absent", &ZeFaults::stalls_absent},
                                {"stalls_no_library", &ZeFaults::stalls_no_library},
                                {"stalls_denied", &ZeFaults::stalls_denied},
                                {"stalls_busy", &ZeFaults::stalls_busy},
                                {"stalls_drop", &ZeFaults::stalls_drop},
                                {"stalls_lost", &ZeFaults::stalls_lost},
                                {"stalls_wrong", &ZeFaults::stalls_wrong},
                                {"stalls_foreign", &ZeFaults::stalls_foreign},
                                {"stalls_one_set", &ZeFaults::stalls_one_set},
                                {"stalls_say", &ZeFaults::stalls_say},
                                {"stalls_stuck", &ZeFaults::stalls_stuck},
                                {"lenient", &ZeFaults::lenient}};

ZeFaults read_faults() {
  ZeFaults faults;
  const char* text = getenv("MOCK_ZE_FAULTS");
  std::istringstream list(text == nullptr ? "" : text);
  for (std::string item; std::getline(list, item, ',');) {
    bool known = false;
    for (const Switch& one : kSwitches) {
      if (item == one.name) {
        faults.*one.fault = true;
        known = true;
      }
    }
    if (!known) {
      violation("MOCK_ZE_FAULTS: unknown fault");
    }
  }
  return faults;
}

struct Driver : Object {
  static constexpr Kind kKind = Kind::driver;
  std::vector<Device*> devices;
};

// The driver has two devices; the second has two sub-devices.
Driver& the_driver() {
  static Driver driver = [] {
    Driver made;
    made.kind = Kind::driver;
    for (uint32_t i = 0; i < 2; ++i) {
      auto* device = new Device{};
      device->kind = Kind::device;
      device->number = i;
      made.devices.push_back(device);
    }
    for (uint32_t i = 0; i < 2; ++i) {
      auto* part = new Device{};
      part->kind = Kind::device;
      part->number = i;
      part->whole = made.devices[1];
      made.devices[1]->parts.push_back(part);
    }
    return made;
  }();
  return driver;
}

// Returns the offset of the device counter. With the fault "wrap" the counter starts 5 ms before it wraps.
uint64_t counter_offset() {
  static const uint64_t offset = [] {
    const uint64_t now = now_ns() / kSecond * kRate + now_ns() % kSecond * kRate / kSecond;
    const uint64_t range = uint64_t{1} << kKernelBits;
    const uint64_t before_end = kRate / 200;
    return ze_faults().wrap ? range - before_end - now % range : 12345;
  }();
  return offset;
}

template <typename Handle, typename T>
ze_result_t list_objects(const std::vector<T*>& from, uint32_t* count, Handle* handles) {
  const auto there = static_cast<uint32_t>(from.size());
  if (*count == 0 || *count > there) {
    *count = there;
  }
  for (uint32_t i = 0; handles != nullptr && i < *count; ++i) {
    handles[i] = reinterpret_cast<Handle>(from[i]);
  }
  return ZE_RESULT_SUCCESS;
}

ze_result_t ZE_APICALL init(ze_init_flags_t /*flags*/) {
  counter_offset();
  return ZE_RESULT_SUCCESS;
}

ze_result_t ZE_APICALL get_drivers(uint32_t* count, ze_driver_handle_t* drivers) {
  return list_objects(std::vector<Driver*>{&the_driver()}, count, drivers);
}

ze_result_t ZE_APICALL get_api_version(ze_driver_handle_t /*driver*/, ze_api_version_t* version) {
  *version = ze_faults().old_driver ? ZE_API_VERSION_1_0 : ZE_API_VERSION_1_3;
  return ZE_RESULT_SUCCESS;
}

ze_result_t ZE_APICALL get_driver_properties(ze_driver_handle_t /*driver*/, ze_driver_properties_t* properties) {
  properties->driverVersion = 1U << 24U | 3U << 16U | 77U;
  // The layout of ze_driver_ddi_handles_ext_properties_t, which only later headers declare.
  struct HandlesProperties {
    uint32_t stype;
    void* next;
    uint32_t flags;
  };
  constexpr uint32_t kHandles = 0x00020027;
  auto* handles = static_cast<HandlesProperties*>(properties->pNext);
  if (handles != nullptr && handles->stype == kHandles) {
    handles->flags = 1;
  }
  return ZE_RESULT_SUCCESS;
}

ze_result_t ZE_APICALL get_extensions(ze_driver_handle_t /*driver*/, uint32_t* count,
                                      ze_driver_extension_properties_t* /*properties*/) {
  *count = 0;
  return ZE_RESULT_SUCCESS;
}

ze_result_t ZE_APICALL get_devices(ze_driver_handle_t driver, uint32_t* count, ze_device_handle_t* devices) {
  return list_objects(object<Driver>(driver).devices, count, devices);
}

ze_result_t ZE_APICALL get_parts(ze_device_handle_t device, uint32_t* count, ze_device_handle_t* parts) {
  return list_objects(object<Device>(device).parts, count, parts);
}

ze_result_t ZE_APICALL get_properties(ze_device_handle_t handle, ze_device_properties_t* properties) {
  const Device& device = object<Device>(handle);
  const bool cycles = !ze_faults().old_driver && properties->stype == ZE_STRUCTURE_TYPE_DEVICE_PROPERTIES_1_2;
  if (ze_faults().other_type) {
    properties->stype = ZE_STRUCTURE_TYPE_DEVICE_PROPERTIES;
  }
  properties->type = ZE_DEVICE_TYPE_GPU;
  properties->timerResolution = cycles ? kRate : kSecond / kRate;
  properties->timestampValidBits = 36;
  properties->kernelTimestampValidBits = kKernelBits;
  const uint32_t number = device.whole == nullptr ? device.number : device.whole->number;
  snprintf(properties->name, sizeof(properties->name), "mock GPU %u", number);
  memset(properties->uuid.id, static_cast<int>(number), sizeof(properties->uuid.id));
  properties->uuid.id[15] = static_cast<uint8_t>(device.whole == nullptr ? 0 : 1 + device.number);
  if (device.whole != nullptr) {
    properties->flags |= ZE_DEVICE_PROPERTY_FLAG_SUBDEVICE;
    properties->subdeviceId = device.number;
  }
  return ZE_RESULT_SUCCESS;
}

ze_result_t ZE_APICALL get_queue_groups(ze_device_handle_t /*device*/, uint32_t* count,
                                        ze_command_queue_group_properties_t* groups) {
  *count = 2;
  if (groups != nullptr) {
    groups[0].flags = ZE_COMMAND_QUEUE_GROUP_PROPERTY_FLAG_COMPUTE | ZE_COMMAND_QUEUE_GROUP_PROPERTY_FLAG_COPY;
    groups[kCopyOrdinal].flags = ZE_COMMAND_QUEUE_GROUP_PROPERTY_FLAG_COPY;
  }
  return ZE_RESULT_SUCCESS;
}

ze_result_t ZE_APICALL get_timestamps(ze_device_handle_t /*device*/, uint64_t* host, uint64_t* device) {
  *host = now_ns();
  *device = cycles_at(*host) & ((uint64_t{1} << 36U) - 1);
  return ZE_RESULT_SUCCESS;
}

void set_times(Event& event, uint64_t start, uint64_t end) {
  event.start = ze_faults().zero_times ? 0 : start;
  event.end = ze_faults().zero_times ? 0 : ze_faults().reversed_times ? start - (end - start) : end;
}

void copy_times(const Event& event, ze_kernel_timestamp_result_t* to) {
  const uint64_t mask = (uint64_t{1} << kKernelBits) - 1;
  *to = {};
  to->global = {event.start & mask, event.end & mask};
  to->context = to->global;
}

}  // namespace

const ZeFaults& ze_faults() {
  static const ZeFaults faults = read_faults();
  return faults;
}

void violation(const char* what) {
  fprintf(stderr, "mock Level Zero driver: %s\n", what);
  abort();
}

uint64_t now_ns() {
  timespec now = {};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<uint64_t>(now.tv_sec) * kSecond + static_cast<uint64_t>(now.tv_nsec);
}

uint64_t cycles_at(uint64_t ns) {
  return ns / kSecond * kRate + ns % kSecond * kRate / kSecond + counter_offset();
}

uint64_t begin_of(uint64_t cycles) {
  const uint64_t counted = cycles - counter_offset();
  return counted / kRate * kSecond + (counted % kRate * kSecond + kRate - 1) / kRate;
}

void run(Timeline& timeline, const Step& step, Device& device) {
  uint64_t start = timeline.free_at > now_ns() ? timeline.free_at : now_ns();
  for (Event* event : step.waits) {
    if (event->signaled_at == kNever && !ze_faults().never_finish) {
      violation("a command waits for an event that nothing before it signals");
    }
    start = event->signaled_at > start ? event->signaled_at : start;
  }
  const uint64_t first = ze_faults().never_finish ? 0 : cycles_at(start) + 1;
  const uint64_t over = ze_faults().never_finish ? kNever : begin_of(first + step.cycles);
  timeline.free_at = over;
  for (const Kernel* kernel : step.kernels) {
    sample_stalls(device, *kernel, over);
  }
  for (Event* event : step.waits) {
    event->busy_until = over;
  }
  for (size_t i = 0; i < step.events.size(); ++i) {
    Event* event = step.events[i];
    if (step.action == Action::reset) {
      event->signaled_at = kNever;
      event->busy_until = over;
    } else {
      copy_times(*event, &step.times[i]);
      event->read_until = over;
    }
  }
  if (step.signal != nullptr) {
    step.signal->signaled_at = over;
    step.signal->busy_until = over;
    set_times(*step.signal, first, first + step.cycles);
  }
}

void wait_until(uint64_t ns) {
  const timespec until = {static_cast<time_t>(ns / kSecond), static_cast<long>(ns % kSecond)};
  while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, nullptr) != 0) {
  }
}

ze_result_t wait_for(const uint64_t& signaled_at, uint64_t timeout) {
  const uint64_t begin = now_ns();
  for (;;) {
    uint64_t at = 0;
    {
      const std::lock_guard<std::mutex> guard(the_lock());
      at = signaled_at;
    }
    const uint64_t now = now_ns();
    if (at <= now) {
      return ZE_RESULT_SUCCESS;
    }
    if (timeout != UINT64_MAX && now - begin >= timeout) {
      return ZE_RESULT_NOT_READY;
    }
    const uint64_t left = timeout == UINT64_MAX ? kSecond : timeout - (now - begin);
    const uint64_t step = at - now < 1000000 ? at - now : 1000000;
    wait_until(now + (step < left ? step : left));
  }
}

std::mutex& the_lock() {
  static std::mutex lock;
  return lock;
}

void fill(ze_global_dditable_t& table) {
  table.pfnInit = init;
}

ze_result_t ZE_APICALL get_extension_function(ze_driver_handle_t driver, const char* name, void** function) {
  object<Driver>(driver);
  *function = extension(name);
  return *function == nullptr ? ZE_RESULT_ERROR_INVALID_ARGUMENT : ZE_RESULT_SUCCESS;
}

void fill(ze_driver_dditable_t& table) {
  table.pfnGetExtensionFunctionAddress = get_extension_function;
  table.pfnGet = get_drivers;
  table.pfnGetApiVersion = get_api_version;
  table.pfnGetProperties = get_driver_properties;
  table.pfnGetExtensionProperties = get_extensions;
}

void fill(ze_device_dditable_t& table) {
  table.pfnGet = get_devices;
  table.pfnGetSubDevices = get_parts;
  table.pfnGetProperties = get_properties;
  table.pfnGetCommandQueueGroupProperties = get_queue_groups;
  table.pfnGetGlobalTimestamps = get_timestamps;
}

}  // namespace gpuprof::mock
