// Hooks calls in which the host waits for a device. Ignores calls with a timeout of 0, because they do not wait.
#include "base/guard.h"
#include "base/monotonic_clock.h"
#include "level_zero/api/error_names.h"
#include "level_zero/api/newer_api.h"
#include "level_zero/objects.h"
#include "level_zero/outstanding.h"
#include "level_zero/tracer.h"
#include "runtime/launch.h"
#include "runtime/lifecycle.h"
#include "runtime/work.h"

namespace gpuprof::injection::level_zero {
namespace {

struct Wait {
  uint64_t correlation;
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
  wait.correlation = stack_of_host_call();
  wait.start_ns = now_ns();
}

void end_wait(const char* function, ze_result_t result) {
  const uint64_t correlation = wait.correlation;
  wait.correlation = 0;
  if (correlation == 0) {
    return;
  }
  if (result != ZE_RESULT_SUCCESS && result != ZE_RESULT_NOT_READY) {  // NOT_READY: the time limit passed
    call_failed(correlation, {function, error_name(result), result});
    return;
  }
  host_wait(correlation, wait.start_ns, now_ns(), function);
}

template <typename Parameters, const char* Function>
void ZE_APICALL waited(Parameters* /*call_with*/, ze_result_t result, void* /*data*/, void** /*call*/) {
  const Guard guard;
  end_wait(Function, result);
}

constexpr char kQueue[] = "zeCommandQueueSynchronize";
constexpr char kList[] = "zeCommandListHostSynchronize";
constexpr char kFence[] = "zeFenceHostSynchronize";

// Reads the event's time now, because the target may reuse the event afterwards.
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
    read_or_drop(event);
  }
}

}  // namespace

void hook_waits(bool (*add)(const Hook& hook)) {
  const Hook hooks[] = {
      {"CommandQueueSynchronize", as_callback(begin_wait<ze_command_queue_synchronize_params_t>),
       as_callback(waited<ze_command_queue_synchronize_params_t, kQueue>), true},
      {"CommandListHostSynchronize", as_callback(begin_wait<newer::CommandListHostSynchronize>),
       as_callback(waited<newer::CommandListHostSynchronize, kList>), false},
      {"FenceHostSynchronize", as_callback(begin_wait<ze_fence_host_synchronize_params_t>),
       as_callback(waited<ze_fence_host_synchronize_params_t, kFence>), true},
      {"EventHostSynchronize", as_callback(begin_wait<ze_event_host_synchronize_params_t>), as_callback(event_waited),
       true},
  };
  add_hooks(add, hooks);
}

}  // namespace gpuprof::injection::level_zero
