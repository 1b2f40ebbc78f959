#include "cupti/devices.h"

#include <dlfcn.h>

#include <cstdint>
#include <type_traits>

#include "base/atomics.h"
#include "base/uuid_text.h"
#include "cupti/api/cuda_abi.h"
#include "cupti/session.h"
#include "ipc/emit.h"

namespace gpuprof::injection::cupti {
namespace {

constexpr int kMaxDevices = 64;

// The driver's functions. They are looked up when the library is loaded, because a lookup in a launch could wait for a
// lock of the target.
struct Driver {
  decltype(&cuDriverGetVersion) get_version;
  decltype(&cuDeviceGetCount) get_count;
  decltype(&cuDeviceGet) get;
  decltype(&cuDeviceGetName) get_name;
  decltype(&cuDeviceGetUuid_v2) get_uuid;
  decltype(&cuFuncGetName) function_name;  // null before CUDA 12.3, like kernel_name
  decltype(&cuKernelGetName) kernel_name;
};
Driver driver;

void find_driver() {
  // RTLD_NOLOAD: gpuprof must not load a driver. dlclose() does not unload the driver, because the target uses it.
  void* library = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD);
  if (library == nullptr) {
    return;
  }
  const auto find = [library](const char* name, auto* function) {
    *function = reinterpret_cast<std::remove_reference_t<decltype(*function)>>(dlsym(library, name));
  };
  find("cuDriverGetVersion", &driver.get_version);
  find("cuDeviceGetCount", &driver.get_count);
  find("cuDeviceGet", &driver.get);
  find("cuDeviceGetName", &driver.get_name);
  find("cuDeviceGetUuid_v2", &driver.get_uuid);  // unlike cuDeviceGetUuid(), distinguishes MIG instances of a GPU
  if (driver.get_uuid == nullptr) {
    find("cuDeviceGetUuid", &driver.get_uuid);
  }
  find("cuFuncGetName", &driver.function_name);
  find("cuKernelGetName", &driver.kernel_name);
  dlclose(library);
}

}  // namespace

int driver_version() {
  find_driver();
  int version = 0;
  return driver.get_version != nullptr && driver.get_version(&version) == CUDA_SUCCESS ? version : 0;
}

const char* function_name(CUfunction function) {
  const char* name = nullptr;
  if (driver.function_name != nullptr && driver.function_name(&name, function) == CUDA_SUCCESS) {
    return name;
  }
  // Launch functions also accept a CUkernel, a kernel of a library (cuLibraryLoad*), in place of a CUfunction.
  if (driver.kernel_name != nullptr &&
      driver.kernel_name(&name, reinterpret_cast<CUkernel>(function)) == CUDA_SUCCESS) {
    return name;
  }
  return nullptr;
}

void emit_devices() {
  if (!swap_if(&session().devices_named, 0U, 1U)) {
    return;
  }
  int count = 0;
  if (driver.get_count == nullptr || driver.get == nullptr || driver.get_name == nullptr ||
      driver.get_count(&count) != CUDA_SUCCESS) {
    return;
  }
  for (int i = 0; i < count && i < kMaxDevices; ++i) {
    CUdevice handle = 0;
    char name[256] = {};
    if (driver.get(&handle, i) == CUDA_SUCCESS && driver.get_name(name, sizeof(name) - 1, handle) == CUDA_SUCCESS) {
      CUuuid uuid = {};
      const bool known = driver.get_uuid != nullptr && driver.get_uuid(&uuid, handle) == CUDA_SUCCESS;
      device(static_cast<uint32_t>(i), name, known ? UuidText("GPU-", uuid.bytes).text : nullptr);
    }
  }
}

}  // namespace gpuprof::injection::cupti
