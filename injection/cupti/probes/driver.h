// The driver's functions that only probes use, looked up at run time.
#pragma once

#include "cupti/api/cuda_abi.h"

namespace gpuprof::injection::cupti {

struct ProbeDriver {
  decltype(&cuDeviceGetCount) device_count;
  decltype(&cuDeviceGet) device;
  decltype(&cuDeviceGetAttribute) device_attribute;
  decltype(&cuCtxGetDevice) current_device;
  decltype(&cuCtxPushCurrent_v2) push_context;
  decltype(&cuCtxPopCurrent_v2) pop_context;
  decltype(&cuLinkCreate_v2) link_create;
  decltype(&cuLinkAddData_v2) link_add;
  decltype(&cuLinkComplete) link_complete;
  decltype(&cuLinkDestroy) link_destroy;
  decltype(&cuModuleGetFunction) module_function;
  decltype(&cuFuncGetModule) module_of;
  decltype(&cuKernelGetFunction) function_of_kernel;
  decltype(&cuFuncGetAttribute) function_attribute;
  decltype(&cuFuncSetAttribute) set_function_attribute;
  decltype(&cuFuncGetParamInfo) param_info;
  decltype(&cuOccupancyMaxActiveBlocksPerMultiprocessor) occupancy;
  decltype(&cuMemAlloc_v2) allocate;
  decltype(&cuMemcpyDtoHAsync_v2) copy_to_host;
  decltype(&cuStreamCreateWithPriority) create_stream;
  decltype(&cuStreamSynchronize) wait_for_stream;
  decltype(&cuThreadExchangeStreamCaptureMode) exchange_capture_mode;
};

// Looks up all functions. Returns the name of one that the driver lacks, or null.
const char* find_probe_driver();

const ProbeDriver& probe_driver();

// Marks calls of the driver by this library: CUPTI's callbacks ignore them. Allows calls that a graph capture of the
// target would not allow.
class OwnCalls {
 public:
  OwnCalls();
  ~OwnCalls();
  OwnCalls(const OwnCalls&) = delete;
  OwnCalls& operator=(const OwnCalls&) = delete;

  // Returns whether this thread makes such calls.
  static bool in_progress();

 private:
  CUstreamCaptureMode mode_ = CU_STREAM_CAPTURE_MODE_RELAXED;
};

}  // namespace gpuprof::injection::cupti
