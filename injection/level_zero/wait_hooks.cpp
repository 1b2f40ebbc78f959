// Calls in which the host waits for a device. With a timeout of 0 they only ask.
#include "base/guard.h"
#include "base/monotonic_clock.h"
#include "base/thread_state.h"
#include "ipc/emit.h"
#include "level_zero/newer.h"
#include "level_zero/objects.h"
#include "level_zero/outstanding.h"
#include "level_zero/tracer.h"
#include "runtime/launch.h"
#include "runtime/lifecycle.h"
#include "runtime/work.h"

namespace gpuprof::injection::level_zero {
namespace {

// The call of this thread that waits.
struct Wait {
  uint64_t correlation;  // 0: none
  uint64_t start_ns;
};
constinit thread_local Wait wait = {};

template <typename Parameters>
void ZE_APICALL begin_wait(Parameters* call_with, ze_result_t /*result*/, void* /*data*/, void** /*call*/) {
  const Guard guard;
  wait.correlation = 0;
  if (!guard.entered() || *call_with->ptimeout == 0 || !active()) {
    return;
  }
  wait.correlation = GPUPROF_CORRELATION_HOST | next_correlation();
  stack_here(wait.correlation);
  wait.start_ns = now_ns();
}

void end_wait(const char* function, ze_result_t result) {
  const uint64_t correlation = wait.correlation;
  wait.correlation = 0;
  if (correlation == 0 || (result != ZE_RESULT_SUCCESS && result != ZE_RESULT_NOT_READY)) {
    return;  // others were refused, and have not waited
  }
  gpuprof_host_op op = {};
  op.correlation = correlation;
  op.start_ns = wait.start_ns;
  op.end_ns = now_ns();
  op.count = 1;
  op.name_id = name_id(function);
  op.device = UINT32_MAX;
  op.tid = thread_id();
  op.op = GPUPROF_HOST_SYNC;
  host_op(op);
}

void ZE_APICALL queue_waited(ze_command_queue_synchronize_params_t* /*call_with*/, ze_result_t result, void* /*data*/,
                             void** /*call*/) {
  const Guard guard;
  end_wait("zeCommandQueueSynchronize", result);
}

void ZE_APICALL list_waited(newer::CommandListHostSynchronize* /*call_with*/, ze_result_t result, void* /*data*/,
                            void** /*call*/) {
  const Guard guard;
  end_wait("zeCommandListHostSynchronize", result);
}

void ZE_APICALL fence_waited(ze_fence_host_synchronize_params_t* /*call_with*/, ze_result_t result, void* /*data*/,
                             void** /*call*/) {
  const Guard guard;
  end_wait("zeFenceHostSynchronize", result);
}

// What the event has timed is read now: the target may use it for something else next.
void ZE_APICALL event_waited(ze_event_host_synchronize_params_t* call_with, ze_result_t result, void* /*data*/,
                             void** /*call*/) {
  const Guard guard;
  if (!guard.entered()) {
    return;
  }
  end_wait("zeEventHostSynchronize", result);
  const Locked locked;
  TargetEvent* event = result == ZE_RESULT_SUCCESS && locked.held() ? target_events.find(*call_with->phEvent) : nullptr;
  if (event != nullptr) {
    settle(event);
  }
}

}  // namespace

void hook_waits(bool (*add)(const Hook& hook)) {
  const Hook hooks[] = {
      {"CommandQueueSynchronize", as_callback(begin_wait<ze_command_queue_synchronize_params_t>),
       as_callback(queue_waited), true},
      {"CommandListHostSynchronize", as_callback(begin_wait<newer::CommandListHostSynchronize>),
       as_callback(list_waited), false},
      {"FenceHostSynchronize", as_callback(begin_wait<ze_fence_host_synchronize_params_t>), as_callback(fence_waited),
       true},
      {"EventHostSynchronize", as_callback(begin_wait<ze_event_host_synchronize_params_t>), as_callback(event_waited),
       true},
  };
  for (const Hook& hook : hooks) {
    add(hook);
  }
}

}  // namespace gpuprof::injection::level_zero
