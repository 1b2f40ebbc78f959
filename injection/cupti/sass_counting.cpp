#include "cupti/sass_counting.h"

#include <cstdint>
#include <cstdio>
#include <ctime>

#include "base/atomics.h"
#include "base/guard.h"
#include "base/monotonic_clock.h"
#include "cupti/sampled_code.h"
#include "cupti/sass_calls.h"
#include "cupti/session.h"
#include "ipc/emit.h"
#include "ipc/process_state.h"
#include "ipc/ring.h"
#include "runtime/lifecycle.h"

namespace gpuprof::injection::cupti {
namespace {

constexpr uint32_t kMaxContexts = 64;
constexpr uint32_t kMaxDevices = 64;
constexpr uint64_t kReadPaceNs = 950000000;  // the flusher comes each 200 ms
constexpr uint64_t kHoldNs = 1000000000;
constexpr uint64_t kLongestReadingNs = 10000000000;
constexpr long kPauseNs = 100000;

enum State : uint32_t { kFree = 0, kOn = 1, kOff = 2, kRefused = 3 };

struct Context {
  CUcontext context;
  uint32_t state;  // enum State
  uint32_t device;
  uint32_t ring;
};

struct Counting {
  uint32_t wanted;     // atomic
  uint32_t reading;    // atomic; launches wait meanwhile
  uint32_t launching;  // atomic; threads that are in a launch
  uint32_t paused;     // atomic
  uint32_t told;       // atomic; why nothing is counted
  uint32_t lock;       // of all below, and held in CUPTI's calls
  uint64_t read_ns;
  Context contexts[kMaxContexts];
};
constinit Counting state = {};
constinit bool configured[kMaxDevices] = {};  // for good: CUPTI takes no second configuration
uint32_t recordings = 0;                      // atomic

// The context that the thread has last launched in, of this recording.
struct NotedContext {
  CUcontext context;
  uint32_t recording;
};
constinit thread_local NotedContext noted = {};

void tell_off(const char* reason) {
  if (swap_if(&state.told, 0, 1)) {
    meta("counting.off", reason);
  }
}

void tell_refused(const char* what, CUptiResult result) {
  char reason[256];
  snprintf(reason, sizeof(reason), "%s: %s (CUPTI error %u)", what, result_text(session().api, result),
           static_cast<unsigned>(result));
  tell_off(reason);
}

Context* find(CUcontext wanted) {
  for (Context& context : state.contexts) {
    if (context.state != kFree && context.context == wanted) {
      return &context;
    }
  }
  return nullptr;
}

Context* add(CUcontext wanted) {
  for (uint32_t i = 0; i < kMaxContexts; ++i) {
    Context& context = state.contexts[i];
    if (context.state == kFree) {
      context = {wanted, kOff, 0, i % GPUPROF_RING_COUNT};
      return &context;
    }
  }
  tell_off("more than 64 contexts at once: the others are not counted");
  return nullptr;
}

bool configure(uint32_t device) {
  const gpuprof_segment* segment = open_segment();
  if (device >= kMaxDevices || segment == nullptr) {
    return false;
  }
  if (configured[device]) {
    return true;
  }
  const CUptiResult result = configure_counts(device, segment->counted);
  if (result != CUPTI_SUCCESS) {
    tell_refused("CUPTI counts nothing on this device", result);
    return false;
  }
  configured[device] = true;
  return true;
}

void switch_on(Context& context) {
  if (session().api.sampling.device_id(context.context, &context.device) != CUPTI_SUCCESS ||
      !configure(context.device)) {
    context.state = kRefused;
    return;
  }
  const CUptiResult result = enable_counts(context.context);
  context.state = result == CUPTI_SUCCESS ? kOn : kRefused;
  if (result != CUPTI_SUCCESS) {
    tell_refused("CUPTI does not count in this context", result);
  }
}

void pause() {
  const timespec time = {0, kPauseNs};
  nanosleep(&time, nullptr);
}

// True: no thread is in a launch, and none will be until `reading` is 0.
bool hold_launches() {
  __atomic_store_n(&state.reading, 1U, __ATOMIC_SEQ_CST);
  const uint64_t deadline = now_ns() + kHoldNs;
  while (__atomic_load_n(&state.launching, __ATOMIC_SEQ_CST) != 0 && now_ns() < deadline) {
    pause();
  }
  return __atomic_load_n(&state.launching, __ATOMIC_SEQ_CST) == 0;
}

// With the lock held. Where launches can not be held, what was counted waits for the next time.
void read_all(bool may_wait) {
  if (hold_launches()) {
    for (const Context& context : state.contexts) {
      if (context.state == kOn) {
        read_counts(context.context, context.device, context.ring, may_wait);
      }
    }
  }
  store_release(&state.reading, 0U);
}

void switch_off() {
  for (Context& context : state.contexts) {
    if (context.state == kOn) {
      disable_counts(context.context);
      context.state = kOff;
    }
  }
}

void forget_context(CUcontext gone) {
  if (try_lock_bounded(&state.lock)) {
    if (Context* context = find(gone); context != nullptr) {
      context->state = kFree;
    }
    unlock(&state.lock);
  }
}

void count_in_context(CUcontext launched_in) {
  const uint32_t recording = load_relaxed(&recordings);
  if ((noted.context == launched_in && noted.recording == recording) || load_relaxed(&state.told) != 0 ||
      load_relaxed(&state.paused) != 0 || !try_lock_bounded(&state.lock)) {
    return;
  }
  Context* context = find(launched_in);
  context = context != nullptr ? context : add(launched_in);
  if (context != nullptr && context->state == kOff) {
    switch_on(*context);
  }
  noted = {context != nullptr ? launched_in : nullptr, recording};
  unlock(&state.lock);
}

}  // namespace

void begin_counting(CUpti_SubscriberHandle subscriber) {
  const gpuprof_options* wanted = options();
  add_relaxed(&recordings, 1U);
  if (try_lock_bounded(&state.lock)) {
    state.told = 0;
    state.paused = 0;
    state.reading = 0;
    state.launching = 0;
    state.read_ns = 0;
    for (Context& context : state.contexts) {
      context = {};
    }
    unlock(&state.lock);
  }
  const bool counts = wanted != nullptr && (wanted->flags & GPUPROF_OPTION_COUNTS) != 0;
  store_relaxed(&state.wanted, counts ? 1U : 0U);
  if (!counts) {
    return;
  }
  if (!session().api.sass.complete || !session().api.sampling.complete) {
    tell_off("this CUPTI has no SASS metrics: use that of CUDA 12.2 or later");
    return;
  }
  // Only where CUPTI tells of modules that it has patched does it count more than the first function, and more than
  // once.
  session().api.enable_callback(1, subscriber, CUPTI_CB_DOMAIN_RESOURCE, CUPTI_CBID_RESOURCE_MODULE_PROFILED);
}

bool counting() {
  return load_relaxed(&state.wanted) != 0;
}

void begin_counted_launch(CUcontext context) {
  const uint64_t deadline = now_ns() + kLongestReadingNs;
  __atomic_fetch_add(&state.launching, 1U, __ATOMIC_SEQ_CST);
  while (__atomic_load_n(&state.reading, __ATOMIC_SEQ_CST) != 0) {
    if (now_ns() >= deadline) {  // a kernel that waits for the host, perhaps: it would never end
      lost(GPUPROF_LOSS_DETAIL, 1);
      break;
    }
    __atomic_fetch_sub(&state.launching, 1U, __ATOMIC_SEQ_CST);
    pause();
    __atomic_fetch_add(&state.launching, 1U, __ATOMIC_SEQ_CST);
  }
  count_in_context(context);
}

void end_counted_launch() {
  __atomic_fetch_sub(&state.launching, 1U, __ATOMIC_SEQ_CST);
}

void read_counts_now() {
  if (try_lock_bounded(&state.lock)) {
    read_all(false);
    unlock(&state.lock);
  }
}

void on_counting_callback(CUpti_CallbackId id, const CUpti_ResourceData* data) {
  if (!counting()) {
    return;
  }
  const Guard guard;
  if (id == CUPTI_CBID_RESOURCE_MODULE_LOADED && data->resourceDescriptor != nullptr) {
    keep_code(*static_cast<const CUpti_ModuleResourceData*>(data->resourceDescriptor));
  } else if (id == CUPTI_CBID_RESOURCE_CONTEXT_DESTROY_STARTING) {
    forget_context(data->context);
  }
}

void flush_counting() {
  if (!counting()) {
    return;
  }
  const Guard guard;
  hand_over_kept_code();
  const uint64_t now = now_ns();
  if ((now - state.read_ns >= kReadPaceNs || flush_requested()) && try_lock_bounded(&state.lock)) {
    read_all(true);
    state.read_ns = now;
    unlock(&state.lock);
  }
}

void pause_counting(bool paused) {
  if (!counting()) {
    return;
  }
  const Guard guard;
  store_relaxed(&state.paused, paused ? 1U : 0U);
  if (!try_lock_bounded(&state.lock)) {
    return;
  }
  if (paused) {
    read_all(true);
    switch_off();
  } else {
    store_relaxed(&state.launching, 0U);  // the ends of launches are not told of while paused
    for (Context& context : state.contexts) {
      if (context.state == kOff) {
        switch_on(context);
      }
    }
  }
  unlock(&state.lock);
}

void end_counting() {
  if (!counting()) {
    return;
  }
  const Guard guard;
  hand_over_kept_code();
  if (try_lock_bounded(&state.lock)) {
    read_all(true);
    switch_off();
    unlock(&state.lock);
  }
}

}  // namespace gpuprof::injection::cupti
