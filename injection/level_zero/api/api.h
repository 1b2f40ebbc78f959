// Binds the functions of the Level Zero loader. The library's calls are not traced inside a tracing callback. But on a
// library thread, the target's own tracers see them.
#pragma once

#include <level_zero/layers/zel_tracing_api.h>
#include <level_zero/layers/zel_tracing_register_cb.h>
#include <level_zero/loader/ze_loader.h>
#include <level_zero/ze_api.h>

namespace gpuprof::injection::level_zero {

// Every loader of Level Zero 1.2 or later has these functions.
#define GPUPROF_ZE_FUNCTIONS(function)                                                                                \
  function(zeCommandListAppendBarrier) function(zeCommandListAppendEventReset)                                        \
      function(zeCommandListAppendQueryKernelTimestamps) function(zeCommandListAppendSignalEvent)                     \
          function(zeCommandListClose) function(zeCommandListCreate) function(zeCommandListDestroy)                   \
              function(zeCommandQueueExecuteCommandLists) function(zeDeviceGet) function(zeDeviceGetGlobalTimestamps) \
                  function(zeDeviceGetProperties) function(zeDeviceGetSubDevices) function(zeDriverGet)               \
                      function(zeDriverGetApiVersion) function(zeDriverGetProperties) function(zeEventCreate)         \
                          function(zeEventDestroy) function(zeEventHostReset) function(zeEventHostSynchronize)        \
                              function(zeEventPoolCreate) function(zeEventPoolDestroy)                                \
                                  function(zeEventQueryKernelTimestamp) function(zeEventQueryStatus)                  \
                                      function(zeKernelGetName) function(zeMemAllocHost) function(zeMemFree)          \
                                          function(zeMemGetAddressRange) function(zeMemGetAllocProperties)            \
                                              function(zelTracerCreate) function(zelTracerSetEnabled)

struct Api {
#define GPUPROF_ZE_MEMBER(name) decltype(&::name) name;  // NOLINT(bugprone-macro-parentheses)
  GPUPROF_ZE_FUNCTIONS(GPUPROF_ZE_MEMBER)
#undef GPUPROF_ZE_MEMBER
};

extern Api api;  // NOLINT(bugprone-dynamic-static-initializers): zeros until bind()

// Returns a handle of the process's loader, even if it was opened privately. Returns null if no loader is loaded.
void* find_loader();
// Returns a function of the loader; null if the loader lacks it.
void* find_function(const char* name);

// Binds all functions. Returns the name of a missing one, or null. Keeps the loader loaded, because library threads
// call it.
const char* bind();

}  // namespace gpuprof::injection::level_zero
