// Hooks commands that put work on a device. Ignores barriers, event commands, prefetches and advice.
#include "level_zero/api/newer_api.h"
#include "level_zero/commands.h"
#include "level_zero/tracer.h"

namespace gpuprof::injection::level_zero {
namespace {

uint64_t bytes_of(const ze_copy_region_t* region) {
  if (region == nullptr) {
    return 0;
  }
  const uint64_t depth = region->depth == 0 ? 1 : region->depth;
  return uint64_t{region->width} * region->height * depth;
}

#define GPUPROF_CALLBACK_REST ze_result_t /*result*/, void* /*data*/, void** call

template <typename Parameters>
void ZE_APICALL append_kernel(Parameters* call_with, GPUPROF_CALLBACK_REST) {
  begin_command({.list = *call_with->phCommandList,
                 .signal = call_with->phSignalEvent,
                 .op = GPUPROF_OP_KERNEL,
                 .kernel = *call_with->phKernel},
                call);
}

// Records one command with the first kernel's name for all kernels, because the driver reports only when all have
// ended.
void ZE_APICALL append_several_kernels(ze_command_list_append_launch_multiple_kernels_indirect_params_t* call_with,
                                       GPUPROF_CALLBACK_REST) {
  ze_kernel_handle_t first = nullptr;
  if (*call_with->pnumKernels != 0 && *call_with->pphKernels != nullptr) {
    first = **call_with->pphKernels;
  }
  begin_command(
      {.list = *call_with->phCommandList, .signal = call_with->phSignalEvent, .op = GPUPROF_OP_KERNEL, .kernel = first},
      call);
}

template <typename Parameters>
void ZE_APICALL append_copy(Parameters* call_with, GPUPROF_CALLBACK_REST) {
  begin_command({.list = *call_with->phCommandList,
                 .signal = call_with->phSignalEvent,
                 .op = GPUPROF_OP_COPY,
                 .bytes = *call_with->psize,
                 .to = *call_with->pdstptr,
                 .from = *call_with->psrcptr},
                call);
}

void ZE_APICALL append_copy_region(ze_command_list_append_memory_copy_region_params_t* call_with,
                                   GPUPROF_CALLBACK_REST) {
  begin_command({.list = *call_with->phCommandList,
                 .signal = call_with->phSignalEvent,
                 .op = GPUPROF_OP_COPY,
                 .bytes = bytes_of(*call_with->psrcRegion),
                 .to = *call_with->pdstptr,
                 .from = *call_with->psrcptr},
                call);
}

template <typename Parameters>
void ZE_APICALL append_fill(Parameters* call_with, GPUPROF_CALLBACK_REST) {
  begin_command({.list = *call_with->phCommandList,
                 .signal = call_with->phSignalEvent,
                 .op = GPUPROF_OP_FILL,
                 .bytes = *call_with->psize},
                call);
}

// Hooks copies from or to images. For these, the driver reports neither bytes nor whether the image is in host or
// device memory.
template <typename Parameters>
void ZE_APICALL append_image_copy(Parameters* call_with, GPUPROF_CALLBACK_REST) {
  begin_command({.list = *call_with->phCommandList, .signal = call_with->phSignalEvent, .op = GPUPROF_OP_COPY}, call);
}

template <typename Parameters>
void ZE_APICALL append_host_function(Parameters* call_with, GPUPROF_CALLBACK_REST) {
  begin_command({.list = *call_with->phCommandList, .signal = call_with->phSignalEvent, .op = GPUPROF_OP_OTHER}, call);
}

template <typename Parameters>
void ZE_APICALL appended(Parameters* call_with, ze_result_t result, void* /*data*/, void** call) {
  end_command(*call_with->phCommandList, call_with->phSignalEvent, result, call);
}

template <typename Parameters>
void ZE_APICALL execute(Parameters* call_with, GPUPROF_CALLBACK_REST) {
  begin_execution(*call_with->pnumCommandLists, *call_with->pphCommandLists, call);
}

void ZE_APICALL executed(ze_command_queue_execute_command_lists_params_t* call_with, ze_result_t result, void* /*data*/,
                         void** call) {
  end_execution({*call_with->phCommandQueue, false, *call_with->pnumCommandLists, *call_with->pphCommandLists}, result,
                call);
}

void ZE_APICALL executed_at_once(newer::ImmediateAppendCommandListsExp* call_with, ze_result_t result, void* /*data*/,
                                 void** call) {
  end_execution({*call_with->immediate, true, *call_with->pnumCommandLists, *call_with->pphCommandLists}, result, call);
}

template <typename Parameters>
Hook append_hook(const char* name, void(ZE_APICALL* before)(Parameters*, ze_result_t, void*, void**),
                 bool required = true) {
  return {name, as_callback(before), as_callback(appended<Parameters>), required};
}

// Value of `required` for a function that the loader may lack: an extension, or newer than Level Zero 1.8.
constexpr bool kOptional = false;

}  // namespace

void hook_commands(bool (*add)(const Hook& hook)) {
  const Hook hooks[] = {
      append_hook("CommandListAppendLaunchKernel", append_kernel<ze_command_list_append_launch_kernel_params_t>),
      append_hook("CommandListAppendLaunchCooperativeKernel",
                  append_kernel<ze_command_list_append_launch_cooperative_kernel_params_t>),
      append_hook("CommandListAppendLaunchKernelIndirect",
                  append_kernel<ze_command_list_append_launch_kernel_indirect_params_t>),
      append_hook("CommandListAppendLaunchMultipleKernelsIndirect", append_several_kernels),
      append_hook("CommandListAppendLaunchKernelWithArguments", append_kernel<newer::LaunchKernelWithArguments>,
                  kOptional),
      append_hook("CommandListAppendLaunchKernelWithParameters", append_kernel<newer::LaunchKernelWithParameters>,
                  kOptional),
      append_hook("CommandListAppendMemoryCopy", append_copy<ze_command_list_append_memory_copy_params_t>),
      append_hook("CommandListAppendMemoryCopyFromContext",
                  append_copy<ze_command_list_append_memory_copy_from_context_params_t>),
      append_hook("CommandListAppendMemoryCopyWithParameters", append_copy<newer::MemoryCopyWithParameters>, kOptional),
      append_hook("CommandListAppendMemoryCopyRegion", append_copy_region),
      append_hook("CommandListAppendMemoryFill", append_fill<ze_command_list_append_memory_fill_params_t>),
      append_hook("CommandListAppendMemoryFillWithParameters", append_fill<newer::MemoryFillWithParameters>, kOptional),
      append_hook("CommandListAppendImageCopy", append_image_copy<ze_command_list_append_image_copy_params_t>),
      append_hook("CommandListAppendImageCopyRegion",
                  append_image_copy<ze_command_list_append_image_copy_region_params_t>),
      append_hook("CommandListAppendImageCopyToMemory",
                  append_image_copy<ze_command_list_append_image_copy_to_memory_params_t>),
      append_hook("CommandListAppendImageCopyFromMemory",
                  append_image_copy<ze_command_list_append_image_copy_from_memory_params_t>),
      append_hook("CommandListAppendImageCopyToMemoryExt",
                  append_image_copy<ze_command_list_append_image_copy_to_memory_ext_params_t>, kOptional),
      append_hook("CommandListAppendImageCopyFromMemoryExt",
                  append_image_copy<ze_command_list_append_image_copy_from_memory_ext_params_t>, kOptional),
      append_hook("CommandListAppendHostFunction", append_host_function<newer::HostFunction>, kOptional),
      {"CommandQueueExecuteCommandLists", as_callback(execute<ze_command_queue_execute_command_lists_params_t>),
       as_callback(executed), true},
      {"CommandListImmediateAppendCommandListsExp", as_callback(execute<newer::ImmediateAppendCommandListsExp>),
       as_callback(executed_at_once), kOptional},
      // Its parameters begin like those of CommandListImmediateAppendCommandListsExp.
      {"CommandListImmediateAppendCommandListsWithParameters",
       as_callback(execute<newer::ImmediateAppendCommandListsExp>), as_callback(executed_at_once), kOptional},
  };
  add_hooks(add, hooks);
}

}  // namespace gpuprof::injection::level_zero
