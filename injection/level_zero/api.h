// The Level Zero headers, and the functions of the loader that we call. Inside a callback of the tracing layer they are
// not traced; on a thread of ours the target's own tracers see them.
#pragma once

#include <level_zero/layers/zel_tracing_api.h>
#include <level_zero/layers/zel_tracing_register_cb.h>
#include <level_zero/loader/ze_loader.h>
#include <level_zero/ze_api.h>

namespace gpuprof::injection::level_zero {

// All of them are in every loader of Level Zero 1.2 or later.
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

// The loader that is in the process, which may have been opened for one library alone; null: none.
void* find_loader();
// A function of it; null: it has none of that name.
void* find_function(const char* name);

// The name of a function that the loader lacks; null: all are there. Keeps the loader in the process from here on, as a
// thread of ours calls it.
const char* bind();

}  // namespace gpuprof::injection::level_zero
