#include "opencl/devices.h"

#include <string.h>

#include "base/atomics.h"
#include "ipc/emit.h"
#include "runtime/lifecycle.h"

namespace gpuprof::injection::opencl {
namespace {

constexpr uint64_t kWindowNs = 1000000000;

struct Clock {
  uint32_t lock = 0;
  bool known = false;
  uint64_t window_start = 0;
  int64_t least = 0;         // lowest upper bound of the clock offset that was found in the current window
  int64_t least_before = 0;  // lowest upper bound in the previous window
};

struct Device {
  cl_device_id handle = nullptr;
  uint32_t announced_to = 0;  // id of the source that has announced this device
  Clock clock;
};

Device devices[kMaxDevices];
uint32_t device_count = 0;
uint32_t devices_lock = 0;

uint32_t find_device(cl_device_id handle) {
  const uint32_t count = load_acquire(&device_count);
  for (uint32_t i = 0; i < count; ++i) {
    if (devices[i].handle == handle) {
      return i;
    }
  }
  return kMaxDevices;
}

// Reports the driver version, because comparisons of recordings require equal versions.
void announce_driver(cl_device_id handle) {
  char text[256] = "";
  cl_platform_id platform = nullptr;
  // NOLINTNEXTLINE(bugprone-sizeof-expression): a handle is what is asked for
  if (target.clGetDeviceInfo(handle, CL_DEVICE_PLATFORM, sizeof(platform), &platform, nullptr) != CL_SUCCESS ||
      platform == nullptr ||
      target.clGetPlatformInfo(platform, CL_PLATFORM_NAME, sizeof(text) / 2, text, nullptr) != CL_SUCCESS) {
    return;
  }
  size_t length = strnlen(text, sizeof(text) / 2 - 1);
  text[length++] = ' ';
  if (target.clGetDeviceInfo(handle, CL_DRIVER_VERSION, sizeof(text) - length, text + length, nullptr) == CL_SUCCESS) {
    text[sizeof(text) - 1] = '\0';
    meta("gpu.driver", text);
  }
}

// The estimates of --max-overhead take the times of kernels in windows for those of all kernels.
void note_shared_cpu(cl_device_id handle) {
  cl_device_type type = 0;
  if (wants(GPUPROF_OPTION_WINDOWS) &&
      target.clGetDeviceInfo(handle, CL_DEVICE_TYPE, sizeof(type), &type, nullptr) == CL_SUCCESS &&
      (type & CL_DEVICE_TYPE_CPU) != 0) {
    meta("note.opencl.cpu_device",
         "kernels run on the CPU, and recording slows them down: if only windows are recorded, times of kernels that "
         "take a few us are some percent too long, which intervals do not include");
  }
}

}  // namespace

uint32_t device_index(cl_device_id handle) {
  uint32_t index = find_device(handle);
  if (index < kMaxDevices || !try_lock_bounded(&devices_lock)) {
    return index < kMaxDevices ? index : kMaxDevices - 1;
  }
  index = find_device(handle);
  if (index == kMaxDevices) {
    index = device_count < kMaxDevices ? device_count : kMaxDevices - 1;
    if (device_count < kMaxDevices) {
      devices[index].handle = handle;
      store_release(&device_count, index + 1);
    }
  }
  unlock(&devices_lock);
  return index;
}

void announce_device(uint32_t index) {
  Device& known = devices[index];
  const uint32_t announced_to = load_relaxed(&known.announced_to);
  if (announced_to == source() || !swap_if(&known.announced_to, announced_to, source())) {
    return;
  }
  char name[256] = "";
  if (target.clGetDeviceInfo(known.handle, CL_DEVICE_NAME, sizeof(name), name, nullptr) != CL_SUCCESS) {
    name[0] = '\0';  // if the driver returns no name, records refer to a device without a name
  }
  name[sizeof(name) - 1] = '\0';
  device(index, name, nullptr);
  announce_driver(known.handle);
  note_shared_cpu(known.handle);
}

int64_t clock_offset(uint32_t index, uint64_t device_end_ns, uint64_t now) {
  const auto bound = static_cast<int64_t>(now - device_end_ns);
  Clock& clock = devices[index].clock;
  if (!try_lock_bounded(&clock.lock)) {
    return bound;
  }
  if (!clock.known) {
    clock.known = true;
    clock.window_start = now;
    clock.least = bound;
    clock.least_before = bound;
  } else if (now - clock.window_start > kWindowNs) {
    clock.least_before = now - clock.window_start > 2 * kWindowNs ? bound : clock.least;
    clock.least = bound;
    clock.window_start = now;
  } else if (bound < clock.least) {
    clock.least = bound;
  }
  const int64_t offset = clock.least < clock.least_before ? clock.least : clock.least_before;
  unlock(&clock.lock);
  return offset;
}

}  // namespace gpuprof::injection::opencl
