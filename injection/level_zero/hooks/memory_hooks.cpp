// Hooks memory allocations and frees. Before memory is freed, asks the driver for its size and device.
#include "base/guard.h"
#include "base/thread_state.h"
#include "level_zero/api/error_names.h"
#include "level_zero/devices.h"
#include "level_zero/hooks/timed_call.h"
#include "level_zero/tracer.h"
#include "runtime/launch.h"
#include "runtime/lifecycle.h"
#include "runtime/work.h"

namespace gpuprof::injection::level_zero {
namespace {

struct Memory {
  uint64_t bytes;  // 0: there is nothing to report
  uint32_t device;
};

constinit thread_local Memory freed = {};

uint64_t stack_of_this_call() {
  return stack_of_ended_call == 0 ? stack_of_host_call() : stack_of_ended_call;
}

void emit_memory(gpuprof_host_op_kind kind, const char* function, const Memory& memory) {
  if (memory.device != UINT32_MAX) {
    announce_device(memory.device);
  }
  host_event({kind, function, memory.bytes, memory.device}, stack_of_this_call(), thread_id());
}

void allocated(const char* function, ze_device_handle_t device, uint64_t bytes, ze_result_t result) {
  const Guard guard;
  if (!guard.entered() || !active()) {
    return;
  }
  if (result != ZE_RESULT_SUCCESS) {
    call_failed(stack_of_this_call(), {function, error_name(result), result});
  } else {
    emit_memory(GPUPROF_HOST_ALLOC, function, {bytes, device == nullptr ? UINT32_MAX : device_index(device)});
  }
}

void ZE_APICALL device_allocated(ze_mem_alloc_device_params_t* call_with, ze_result_t result, void* /*data*/,
                                 void** /*call*/) {
  allocated("zeMemAllocDevice", *call_with->phDevice, *call_with->psize, result);
}

void ZE_APICALL shared_allocated(ze_mem_alloc_shared_params_t* call_with, ze_result_t result, void* /*data*/,
                                 void** /*call*/) {
  allocated("zeMemAllocShared", *call_with->phDevice, *call_with->psize, result);
}

void ZE_APICALL host_allocated(ze_mem_alloc_host_params_t* call_with, ze_result_t result, void* /*data*/,
                               void** /*call*/) {
  allocated("zeMemAllocHost", nullptr, *call_with->psize, result);
}

template <typename Parameters>
void ZE_APICALL free_memory(Parameters* call_with, ze_result_t /*result*/, void* /*data*/, void** /*call*/) {
  const Guard guard;
  freed = {};
  if (!guard.entered() || !active()) {
    return;
  }
  size_t bytes = 0;
  void* base = nullptr;
  ze_memory_allocation_properties_t properties = {};
  properties.stype = ZE_STRUCTURE_TYPE_MEMORY_ALLOCATION_PROPERTIES;
  ze_device_handle_t device = nullptr;
  if (api.zeMemGetAddressRange(*call_with->phContext, *call_with->pptr, &base, &bytes) == ZE_RESULT_SUCCESS &&
      api.zeMemGetAllocProperties(*call_with->phContext, *call_with->pptr, &properties, &device) == ZE_RESULT_SUCCESS) {
    freed = {bytes, device == nullptr ? UINT32_MAX : device_index(device)};
  }
}

template <typename Parameters>
void ZE_APICALL memory_freed(Parameters* /*call_with*/, ze_result_t result, void* /*data*/, void** /*call*/) {
  const Guard guard;
  if (guard.entered() && result == ZE_RESULT_SUCCESS && freed.bytes != 0) {
    emit_memory(GPUPROF_HOST_FREE, "zeMemFree", freed);
  }
}

constexpr char kDevice[] = "zeMemAllocDevice";
constexpr char kShared[] = "zeMemAllocShared";
constexpr char kHost[] = "zeMemAllocHost";
constexpr char kFree[] = "zeMemFree";
constexpr char kFreeExt[] = "zeMemFreeExt";

template <const char* kFunction, typename Parameters>
using Free = TimedCall<kFunction, true, Parameters, memory_freed<Parameters>, free_memory<Parameters>>;

}  // namespace

void hook_memory(bool (*add)(const Hook& hook)) {
  const Hook hooks[] = {
      TimedCall<kDevice, true, ze_mem_alloc_device_params_t, device_allocated>::hook(true),
      TimedCall<kShared, true, ze_mem_alloc_shared_params_t, shared_allocated>::hook(true),
      TimedCall<kHost, true, ze_mem_alloc_host_params_t, host_allocated>::hook(true),
      Free<kFree, ze_mem_free_params_t>::hook(true),
      Free<kFreeExt, ze_mem_free_ext_params_t>::hook(false),
  };
  add_hooks(add, hooks);
}

}  // namespace gpuprof::injection::level_zero
