#include "cupti/devices.h"

#include <cuda.h>
#include <dlfcn.h>

#include <cstdint>

#include "common/emit.h"

namespace gpuprof::injection::cupti {
namespace {

constexpr int kMaxDevices = 64;

template <typename Function>
Function driver_function(const char* name, Function /*of this type*/) {
  // NOLOAD: only the driver that is there. Its count is given back, as the target keeps it loaded anyway.
  void* driver = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD);
  if (driver == nullptr) {
    return nullptr;
  }
  auto function = reinterpret_cast<Function>(dlsym(driver, name));
  dlclose(driver);
  return function;
}

}  // namespace

int driver_version() {
  const auto get_version = driver_function("cuDriverGetVersion", static_cast<decltype(&cuDriverGetVersion)>(nullptr));
  int version = 0;
  return get_version != nullptr && get_version(&version) == CUDA_SUCCESS ? version : 0;
}

void emit_devices() {
  const auto get_count = driver_function("cuDeviceGetCount", static_cast<decltype(&cuDeviceGetCount)>(nullptr));
  const auto get = driver_function("cuDeviceGet", static_cast<decltype(&cuDeviceGet)>(nullptr));
  const auto get_name = driver_function("cuDeviceGetName", static_cast<decltype(&cuDeviceGetName)>(nullptr));
  int count = 0;
  if (get_count == nullptr || get == nullptr || get_name == nullptr || get_count(&count) != CUDA_SUCCESS) {
    return;
  }
  for (int i = 0; i < count && i < kMaxDevices; ++i) {
    CUdevice handle = 0;
    char name[256] = {};
    if (get(&handle, i) == CUDA_SUCCESS && get_name(name, sizeof(name) - 1, handle) == CUDA_SUCCESS) {
      device(static_cast<uint32_t>(i), name);
    }
  }
}

}  // namespace gpuprof::injection::cupti
