// Parameters of functions that are newer than the build's headers (1.8.12 in Debian 12). Since Level Zero 1.17, a
// loader's tracing layer passes them in this form: one pointer per argument, in order.
#pragma once

#include "level_zero/api/api.h"

namespace gpuprof::injection::level_zero::newer {

struct LaunchKernelWithArguments {
  ze_command_list_handle_t* phCommandList;
  ze_kernel_handle_t* phKernel;
  const ze_group_count_t* group_counts;
  const void* group_sizes;
  void*** arguments;
  const void** next;
  ze_event_handle_t* phSignalEvent;
  uint32_t* wait_count;
  ze_event_handle_t** waits;
};

struct LaunchKernelWithParameters {
  ze_command_list_handle_t* phCommandList;
  ze_kernel_handle_t* phKernel;
  const ze_group_count_t** group_counts;
  const void** next;
  ze_event_handle_t* phSignalEvent;
  uint32_t* wait_count;
  ze_event_handle_t** waits;
};

struct MemoryCopyWithParameters {
  ze_command_list_handle_t* phCommandList;
  void** pdstptr;
  const void** psrcptr;
  size_t* psize;
  const void** next;
  ze_event_handle_t* phSignalEvent;
  uint32_t* wait_count;
  ze_event_handle_t** waits;
};

struct MemoryFillWithParameters {
  ze_command_list_handle_t* phCommandList;
  void** pointer;
  const void** pattern;
  size_t* pattern_bytes;
  size_t* psize;
  const void** next;
  ze_event_handle_t* phSignalEvent;
  uint32_t* wait_count;
  ze_event_handle_t** waits;
};

struct HostFunction {
  ze_command_list_handle_t* phCommandList;
  void* function;
  void** data;
  const void** next;
  ze_event_handle_t* phSignalEvent;
  uint32_t* wait_count;
  ze_event_handle_t** waits;
};

struct CommandListHostSynchronize {
  ze_command_list_handle_t* phCommandList;
  uint64_t* ptimeout;
};

struct ImmediateAppendCommandListsExp {
  ze_command_list_handle_t* immediate;
  uint32_t* pnumCommandLists;
  ze_command_list_handle_t** pphCommandLists;
  ze_event_handle_t* signal;
  uint32_t* wait_count;
  ze_event_handle_t** waits;
};

using ImmediateAppendCommandLists = ze_result_t(ZE_APICALL*)(ze_command_list_handle_t, uint32_t,
                                                             ze_command_list_handle_t*, ze_event_handle_t, uint32_t,
                                                             ze_event_handle_t*);

}  // namespace gpuprof::injection::level_zero::newer
