// The OpenCL headers as the layer needs them, and the functions below the layer.
#pragma once

#define CL_TARGET_OPENCL_VERSION 300
#define CL_USE_DEPRECATED_OPENCL_1_0_APIS
#define CL_USE_DEPRECATED_OPENCL_1_1_APIS
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#include <CL/cl.h>
#include <CL/cl_icd.h>
#include <CL/cl_layer.h>

#include <cstring>

namespace gpuprof::injection::opencl {

// What the layer calls: the next layer or the loader's own way to the driver. Entries that the loader does not have
// are null. Written once, before any hook can run.
extern cl_icd_dispatch target;  // NOLINT(bugprone-dynamic-static-initializers): zero until then

// Puts a hook into the layer's table where the loader has such an entry at all.
#define GPUPROF_HOOK(table, entry, hook) \
  do {                                   \
    if ((table).entry != nullptr) {      \
      (table).entry = (hook);            \
    }                                    \
  } while (false)

// What a clGet*Info function does with its answer.
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

// Whether a call with this status has waited: others were refused. The second one has, for a command that failed.
constexpr bool has_waited(cl_int status) {
  return status == CL_SUCCESS || status == CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST;
}

void hook_queues(cl_icd_dispatch& table);
void hook_commands(cl_icd_dispatch& table);
void hook_waits(cl_icd_dispatch& table);
void hook_memory(cl_icd_dispatch& table);

}  // namespace gpuprof::injection::opencl
