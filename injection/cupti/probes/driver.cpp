#include "cupti/probes/driver.h"

#include <dlfcn.h>

#include <cstdint>
#include <type_traits>

namespace gpuprof::injection::cupti {
namespace {

constinit ProbeDriver functions = {};
constinit thread_local uint32_t depth = 0;

}  // namespace

const char* find_probe_driver() {
  void* library = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD);
  if (library == nullptr) {
    return "libcuda.so.1";
  }
  const char* missing = nullptr;
  const auto find = [&](const char* name, auto* function) {
    *function = reinterpret_cast<std::remove_reference_t<decltype(*function)>>(dlsym(library, name));
    missing = *function == nullptr ? name : missing;
  };
  find("cuDeviceGetCount", &functions.device_count);
  find("cuDeviceGet", &functions.device);
  find("cuDeviceGetAttribute", &functions.device_attribute);
  find("cuCtxGetDevice", &functions.current_device);
  find("cuCtxPushCurrent_v2", &functions.push_context);
  find("cuCtxPopCurrent_v2", &functions.pop_context);
  find("cuLinkCreate_v2", &functions.link_create);
  find("cuLinkAddData_v2", &functions.link_add);
  find("cuLinkComplete", &functions.link_complete);
  find("cuLinkDestroy", &functions.link_destroy);
  find("cuModuleGetFunction", &functions.module_function);
  find("cuFuncGetModule", &functions.module_of);
  find("cuKernelGetFunction", &functions.function_of_kernel);
  find("cuFuncGetAttribute", &functions.function_attribute);
  find("cuFuncSetAttribute", &functions.set_function_attribute);
  find("cuFuncGetParamInfo", &functions.param_info);
  find("cuOccupancyMaxActiveBlocksPerMultiprocessor", &functions.occupancy);
  find("cuMemAlloc_v2", &functions.allocate);
  find("cuMemcpyDtoHAsync_v2", &functions.copy_to_host);
  find("cuStreamCreateWithPriority", &functions.create_stream);
  find("cuStreamSynchronize", &functions.wait_for_stream);
  find("cuThreadExchangeStreamCaptureMode", &functions.exchange_capture_mode);
  dlclose(library);  // the target keeps it loaded
  return missing;
}

const ProbeDriver& probe_driver() {
  return functions;
}

OwnCalls::OwnCalls() {
  ++depth;
  functions.exchange_capture_mode(&mode_);
}

OwnCalls::~OwnCalls() {
  functions.exchange_capture_mode(&mode_);
  --depth;
}

bool OwnCalls::in_progress() {
  return depth != 0;
}

}  // namespace gpuprof::injection::cupti
