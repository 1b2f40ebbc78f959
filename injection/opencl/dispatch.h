// The OpenCL headers as the layer needs them, and the functions below the layer.
#pragma once

#define CL_TARGET_OPENCL_VERSION 300
#define CL_USE_DEPRECATED_OPENCL_1_0_APIS
#define CL_USE_DEPRECATED_OPENCL_1_1_APIS
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#include <CL/cl.h>
#include <CL/cl_icd.h>
#include <CL/cl_layer.h>

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

void hook_queues(cl_icd_dispatch& table);
void hook_commands(cl_icd_dispatch& table);
void hook_waits(cl_icd_dispatch& table);
void hook_memory(cl_icd_dispatch& table);

}  // namespace gpuprof::injection::opencl
