#include "cupti/subscriber.h"

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "common/atomics.h"
#include "common/emit.h"
#include "cupti/buffers.h"
#include "cupti/session.h"

namespace gpuprof::injection::cupti {
namespace {

// Above the highest callback id of any CUPTI so far; it grows by some twenty a release.
constexpr CUpti_CallbackId kMaxCallbackId = 2000;

constexpr CUpti_ActivityKind kKinds[] = {CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, CUPTI_ACTIVITY_KIND_MEMCPY,
                                         CUPTI_ACTIVITY_KIND_MEMCPY2, CUPTI_ACTIVITY_KIND_MEMSET};

// Calls that put work on a GPU begin like this; ids differ from version to version, names do not.
constexpr const char* kDriverCalls[] = {"cuLaunch", "cuGraphLaunch", "cuMemcpy", "cuMemset"};
constexpr const char* kRuntimeCalls[] = {"cudaLaunch", "cudaGraphLaunch", "cudaMemcpy", "cudaMemset"};

CUpti_SubscriberHandle subscriber = nullptr;
constinit thread_local uint32_t last_correlation = 0;

bool puts_work(const char* name, const char* const (&beginnings)[4]) {
  while (*name == '_') {
    ++name;  // since CUDA 13 <<<>>> is __cudaLaunchKernel
  }
  if (strstr(name, "LaunchHostFunc") != nullptr) {
    return false;
  }
  for (const char* beginning : beginnings) {
    if (strncmp(name, beginning, strlen(beginning)) == 0) {
      return true;
    }
  }
  return false;
}

void on_callback(void* /*user*/, CUpti_CallbackDomain domain, CUpti_CallbackId /*id*/, const void* data) {
  if (domain != CUPTI_CB_DOMAIN_DRIVER_API && domain != CUPTI_CB_DOMAIN_RUNTIME_API) {
    return;  // `data` is another struct
  }
  const auto* call = static_cast<const CUpti_CallbackData*>(data);
  if (call->callbackSite != CUPTI_API_ENTER) {
    return;  // half of all calls: nothing may come before this
  }
  Session& s = session();
  // A driver call inside a runtime call comes with the same id: it is one launch.
  if (call->correlationId == last_correlation || load_relaxed(&s.forked) != 0) {
    return;
  }
  const Guard guard;
  if (!guard.entered()) {
    lost(GPUPROF_LOSS_REENTRANT, 1);
    return;
  }
  if (!active()) {
    return;
  }
  last_correlation = call->correlationId;
  if (load_relaxed(&s.launched) == 0) {
    store_relaxed(&s.launched, 1U);
  }
  launch(call->correlationId);
}

uint64_t timestamp() {
  return now_ns();
}

size_t enable_calls(CUpti_CallbackDomain domain, const char* const (&beginnings)[4], bool on) {
  const Api& api = session().api;
  size_t enabled = 0;
  for (CUpti_CallbackId id = 1; id < kMaxCallbackId; ++id) {
    const char* name = nullptr;
    if (api.get_callback_name(domain, id, &name) == CUPTI_SUCCESS && name != nullptr && puts_work(name, beginnings) &&
        api.enable_callback(on ? 1 : 0, subscriber, domain, id) == CUPTI_SUCCESS) {
      ++enabled;
    }
  }
  return enabled;
}

// GPUPROF_CUPTI_DOMAINS=driver|runtime|both. A runtime call comes through the driver, under the same id, so the
// driver's callbacks see every launch, with two callbacks fewer for each: the default. `runtime` misses programs that
// use the driver API directly.
size_t enable_all_calls(bool on) {
  const char* domains = secure_getenv("GPUPROF_CUPTI_DOMAINS");
  const bool only_driver = domains == nullptr || strcmp(domains, "driver") == 0;
  const bool only_runtime = domains != nullptr && strcmp(domains, "runtime") == 0;
  size_t enabled = 0;
  if (!only_runtime) {
    enabled += enable_calls(CUPTI_CB_DOMAIN_DRIVER_API, kDriverCalls, on);
  }
  if (!only_driver) {
    enabled += enable_calls(CUPTI_CB_DOMAIN_RUNTIME_API, kRuntimeCalls, on);
  }
  return enabled;
}

void give_up(const char* what, CUptiResult result) {
  char reason[200];
  snprintf(reason, sizeof(reason), "%s: %s (CUPTI error %d)", what, result_text(session().api, result), result);
  disable(reason);
}

// Records on our clock where CUPTI allows it: only before the first kind is enabled.
void choose_clock() {
  Session& s = session();
  s.convert_clock = s.api.register_timestamp == nullptr || s.api.register_timestamp(timestamp) != CUPTI_SUCCESS;
  if (s.convert_clock) {
    measure_clock_offset();
  }
  meta("cupti.timestamps", s.convert_clock ? "offset" : "callback");
}

CUptiResult enable_kinds() {
  for (const CUpti_ActivityKind kind : kKinds) {
    const CUptiResult result = session().api.enable(kind);
    if (result != CUPTI_SUCCESS) {
      return result;
    }
  }
  return CUPTI_SUCCESS;
}

void disable_kinds() {
  for (const CUpti_ActivityKind kind : kKinds) {
    session().api.disable(kind);
  }
}

// Everything that needs the subscription. The text says what failed; null when all is well.
const char* configure(CUptiResult* result) {
  choose_clock();
  *result = session().api.register_buffers(on_buffer_requested, on_buffer_completed);
  if (*result != CUPTI_SUCCESS) {
    return "CUPTI takes no activity buffers";
  }
  *result = enable_kinds();
  if (*result != CUPTI_SUCCESS) {
    return "CUPTI can not record GPU activity";
  }
  if (enable_all_calls(true) == 0) {
    *result = CUPTI_ERROR_INVALID_OPERATION;
    return "CUPTI offers no launch callbacks";
  }
  return nullptr;
}

}  // namespace

bool subscribe() {
  const Api& api = session().api;
  CUptiResult result = api.subscribe(&subscriber, on_callback, nullptr);
  if (result == CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED) {
    disable(
        "another profiler uses CUPTI in this process (torch.profiler, Nsight, DCGM, a debugger, or the program's own "
        "CUDA_INJECTION64_PATH library), and only one can: run without it");
    return false;
  }
  if (result != CUPTI_SUCCESS) {
    give_up("CUPTI refuses the subscription", result);
    return false;
  }
  if (const char* failure = configure(&result); failure != nullptr) {
    give_up(failure, result);
    disable_kinds();
    api.unsubscribe(subscriber);
    return false;
  }
  if (!active()) {
    set_recording(false);  // the recorder starts paused
  }
  return true;
}

void set_recording(bool on) {
  if (on) {
    enable_kinds();
    enable_all_calls(true);
  } else {
    enable_all_calls(false);
    disable_kinds();
  }
}

}  // namespace gpuprof::injection::cupti
