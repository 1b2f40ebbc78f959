// Includes the OpenCL headers for the layer, and declares the functions below the layer.
#pragma once

#define CL_TARGET_OPENCL_VERSION 300
#define CL_USE_DEPRECATED_OPENCL_1_0_APIS
#define CL_USE_DEPRECATED_OPENCL_1_1_APIS
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#include <CL/cl.h>
#include <CL/cl_ext.h>
#include <CL/cl_icd.h>
#include <CL/cl_layer.h>

#include <cstring>

namespace gpuprof::injection::opencl {

// The driver-side functions: those of the next layer or of the loader. Null if the loader lacks them. An entry is
// written once, before its hook runs.
extern cl_icd_dispatch target;  // NOLINT(bugprone-dynamic-static-initializers): zero until then

#define GPUPROF_HOOK(table, entry, hook) \
  do {                                   \
    if ((table).entry != nullptr) {      \
      (table).entry = (hook);            \
    }                                    \
  } while (false)

// Returns a value to the user as the clGet*Info functions do.
inline cl_int answer(const void* value, size_t bytes, size_t capacity, void* to, size_t* bytes_ret) {
  if (to != nullptr) {
    if (capacity < bytes) {
      return CL_INVALID_VALUE;
    }
    memcpy(to, value, bytes);
  }
  if (bytes_ret != nullptr) {
    *bytes_ret = bytes;
  }
  return CL_SUCCESS;
}

// Returns whether a call with this status has waited. It has if it succeeded, or if it waited for a command that
// failed. With any other status, the driver has refused the call.
constexpr bool has_waited(cl_int status) {
  return status == CL_SUCCESS || status == CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST;
}

void hook_calls(cl_icd_dispatch& table);
void hook_queues(cl_icd_dispatch& table);
void hook_commands(cl_icd_dispatch& table);
void hook_waits(cl_icd_dispatch& table);
void hook_memory(cl_icd_dispatch& table);
void hook_extensions(cl_icd_dispatch& table);

// Called when the process ends. Reports the objects that were released, but not yet destroyed by the driver.
void report_released_memory();

}  // namespace gpuprof::injection::opencl
