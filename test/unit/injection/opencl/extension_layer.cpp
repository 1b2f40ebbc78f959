// An OpenCL layer that stands for a driver with extensions: unified memory, and functions that gpuprof does not know.
#define CL_TARGET_OPENCL_VERSION 300
#include <CL/cl.h>
#include <CL/cl_ext.h>
#include <CL/cl_icd.h>
#include <CL/cl_layer.h>

#include <cstdlib>
#include <cstring>

namespace {

cl_icd_dispatch target;
cl_icd_dispatch layer;

void* CL_API_CALL allocate_on_host(cl_context context, const cl_mem_properties_intel* /*properties*/, size_t bytes,
                                   cl_uint alignment, cl_int* /*status*/) {
  return target.clSVMAlloc(context, CL_MEM_READ_WRITE, bytes, alignment);
}

void* CL_API_CALL allocate_on_device(cl_context context, cl_device_id /*device*/,
                                     const cl_mem_properties_intel* /*properties*/, size_t bytes, cl_uint alignment,
                                     cl_int* /*status*/) {
  return target.clSVMAlloc(context, CL_MEM_READ_WRITE, bytes, alignment);
}

cl_int CL_API_CALL release(cl_context context, void* pointer) {
  target.clSVMFree(context, pointer);
  return CL_SUCCESS;
}

cl_int CL_API_CALL copy(cl_command_queue queue, cl_bool blocking, void* to, const void* from, size_t bytes,
                        cl_uint waits, const cl_event* wait_list, cl_event* event) {
  return target.clEnqueueSVMMemcpy(queue, blocking, to, from, bytes, waits, wait_list, event);
}

cl_int CL_API_CALL fill(cl_command_queue queue, void* to, const void* pattern, size_t pattern_bytes, size_t bytes,
                        cl_uint waits, const cl_event* wait_list, cl_event* event) {
  return target.clEnqueueSVMMemFill(queue, to, pattern, pattern_bytes, bytes, waits, wait_list, event);
}

// Has the parameters of version 0.9.5 of cl_khr_command_buffer. Does nothing.
cl_int CL_API_CALL add_fill(cl_command_buffer_khr /*buffer*/, cl_command_queue /*queue*/,
                            const cl_properties* /*properties*/, void* /*memory*/, const void* /*pattern*/,
                            size_t /*pattern_bytes*/, size_t /*bytes*/, cl_uint /*waits*/,
                            const cl_sync_point_khr* /*wait_list*/, cl_sync_point_khr* /*point*/,
                            cl_mutable_command_khr* /*handle*/) {
  return CL_SUCCESS;
}

double run(int a, int b, int c, int d, int e, int f, int g, int h, double i) {
  return a + b + c + d + e + f + g + h + i;
}

double run_other(int a, int b, int c, int d, int e, int f, int g, int h, double i) {
  return run(a, b, c, d, e, f, g, h, i);
}

void* CL_API_CALL get_address(cl_platform_id platform, const char* name) {
  const struct {
    const char* name;
    void* function;
  } functions[] = {{"clHostMemAllocINTEL", reinterpret_cast<void*>(allocate_on_host)},
                   {"clDeviceMemAllocINTEL", reinterpret_cast<void*>(allocate_on_device)},
                   {"clMemFreeINTEL", reinterpret_cast<void*>(release)},
                   {"clEnqueueMemcpyINTEL", reinterpret_cast<void*>(copy)},
                   {"clEnqueueMemFillINTEL", reinterpret_cast<void*>(fill)},
                   {"clCommandSVMMemFillKHR", reinterpret_cast<void*>(add_fill)},
                   {"clRunTEST", reinterpret_cast<void*>(run)},
                   {"clEnqueueTEST", reinterpret_cast<void*>(run_other)}};
  for (const auto& known : functions) {
    if (std::strcmp(known.name, name) == 0) {
      return known.function;
    }
  }
  return target.clGetExtensionFunctionAddressForPlatform(platform, name);
}

// Reports success and a length, but writes nothing.
cl_int CL_API_CALL get_no_kernel_info(cl_kernel /*kernel*/, cl_kernel_info /*name*/, size_t /*capacity*/,
                                      void* /*value*/, size_t* bytes_ret) {
  if (bytes_ret != nullptr) {
    *bytes_ret = 300;
  }
  return CL_SUCCESS;
}

}  // namespace

extern "C" CL_API_ENTRY cl_int CL_API_CALL clGetLayerInfo(cl_layer_info name, size_t capacity, void* value,
                                                          size_t* bytes_ret) {
  const cl_layer_api_version version = CL_LAYER_API_VERSION_100;
  if (name != CL_LAYER_API_VERSION || (value != nullptr && capacity < sizeof(version))) {
    return CL_INVALID_VALUE;
  }
  if (value != nullptr) {
    std::memcpy(value, &version, sizeof(version));
  }
  if (bytes_ret != nullptr) {
    *bytes_ret = sizeof(version);
  }
  return CL_SUCCESS;
}

extern "C" CL_API_ENTRY cl_int CL_API_CALL clInitLayer(cl_uint entries, const cl_icd_dispatch* below,
                                                       cl_uint* entries_ret, const cl_icd_dispatch** layer_ret) {
  std::memcpy(&target, below, entries * sizeof(void*) < sizeof(target) ? entries * sizeof(void*) : sizeof(target));
  layer = target;
  layer.clGetExtensionFunctionAddressForPlatform = get_address;
  if (std::getenv("TEST_MUTE") != nullptr) {
    layer.clGetKernelInfo = get_no_kernel_info;
  }
  *entries_ret = sizeof(layer) / sizeof(void*);
  *layer_ret = &layer;
  return CL_SUCCESS;
}
