#include "cupti/counting/sass_counting.h"

#include <cstdint>
#include <cstdio>
#include <ctime>

#include "base/atomics.h"
#include "base/monotonic_clock.h"
#include "cupti/counting/sass_calls.h"
#include "cupti/session.h"
#include "cupti/subscriber.h"
#include "ipc/emit.h"
#include "ipc/process_state.h"
#include "ipc/ring.h"
#include "runtime/lifecycle.h"

namespace gpuprof::injection::cupti {
namespace {

constexpr uint32_t kMaxContexts = 64;
constexpr uint32_t kMaxDevices = 64;
constexpr uint64_t kReadPaceNs = 950000000;  // 1 s, minus a tolerance because the service thread may check early
constexpr uint64_t kHoldNs = 100000000;
constexpr uint64_t kLongestReadingNs = 5000000000;
constexpr long kPauseNs = 100000;

enum State : uint32_t { kFree = 0, kOn = 1, kOff = 2, kRefused = 3, kGone = 4 };

struct Context {
  CUcontext context;
  uint32_t state;  // atomic, enum State
  uint32_t device;
  uint32_t ring;
};

struct Counting {
  uint32_t wanted;   // atomic; 1: the recorder requests counts
  uint32_t reading;  // atomic; 1: counts are being read, so launches must wait
  // Atomic. The lower half counts the CPU threads that are inside a launch call that began in the current epoch. The
  // upper half is the epoch, which is never 0. The epoch gets a new value when recording begins or resumes.
  uint64_t launches;
  uint32_t abandoned;  // Atomic. 1: reads have stopped, because a kernel did not end. It may wait for the host.
  uint32_t unusable;   // atomic; 1: counting is not possible in this process
  uint32_t changes;    // atomic; number of destroyed contexts
  uint32_t paused;     // atomic
  uint32_t reported;   // atomic; 1: the library has reported why it does not count
  uint32_t lock;       // protects the fields below; held during CUPTI calls
  uint64_t read_ns;
  Context contexts[kMaxContexts];
};
constinit Counting state = {};
constinit bool configured[kMaxDevices] = {};  // never reset, because CUPTI accepts no second configuration
uint32_t recordings = 0;                      // atomic

// The context of the thread's last launch in this recording.
struct NotedContext {
  CUcontext context;
  uint32_t recording;
  // Value of Counting::changes at that launch. If the value has changed since, the context's handle may have been
  // reused.
  uint32_t changes;
};
constinit thread_local NotedContext noted = {};

void report_off(const char* reason) {
  if (swap_if(&state.reported, 0, 1)) {
    meta("counting.off", reason);
  }
}

void report_refusal(const char* what, CUptiResult result) {
  char reason[256];
  snprintf(reason, sizeof(reason), "%s: %s (CUPTI error %u)", what, result_text(session().api, result),
           static_cast<unsigned>(result));
  report_off(reason);
}

Context* find(CUcontext wanted) {
  for (Context& context : state.contexts) {
    const uint32_t its = load_acquire(&context.state);
    if (its != kFree && its != kGone && context.context == wanted) {
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
  report_off("more than 64 contexts at once: instructions in the others are not counted");
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
  size_t count = 0;
  const CUptiResult result = configure_counts(device, segment->counted, &count);
  if (result != CUPTI_SUCCESS) {
    report_refusal("CUPTI cannot count instructions on this device", result);
    return false;
  }
  if (count == 0) {
    report_off("this GPU has none of the requested metrics");
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
    report_refusal("CUPTI cannot count instructions in this context", result);
  }
}

void pause() {
  const timespec time = {0, kPauseNs};
  nanosleep(&time, nullptr);
}

// Makes launches wait until `reading` is 0 again. Returns true if no CPU thread is inside a launch call.
bool hold_launches() {
  if (load_relaxed(&state.abandoned) != 0) {
    return false;
  }
  __atomic_store_n(&state.reading, 1U, __ATOMIC_SEQ_CST);
  const uint64_t deadline = now_ns() + kHoldNs;
  const auto launching = [] { return static_cast<uint32_t>(__atomic_load_n(&state.launches, __ATOMIC_SEQ_CST)); };
  while (launching() != 0 && now_ns() < deadline) {
    pause();
  }
  return launching() == 0;
}

// Reads counts of one context (null: all). Returns false without reading if a CPU thread stays inside a launch call.
// Needs the lock.
bool read_held(CUcontext only, bool may_wait) {
  const bool held = hold_launches();
  for (Context& context : state.contexts) {
    if (load_acquire(&context.state) == kGone) {
      store_release(&context.state, uint32_t{kFree});
    } else if (held && load_acquire(&context.state) == kOn && (only == nullptr || context.context == only)) {
      read_counts(context.context, context.device, context.ring, may_wait);
    }
  }
  store_release(&state.reading, 0U);
  return held;
}

// Reads the counts for the last time, and counts unread ones as lost. Takes the lock itself.
void read_last(CUcontext only, bool may_wait) {
  bool read = false;
  if (try_lock_bounded(&state.lock)) {
    read = read_held(only, may_wait);
    unlock(&state.lock);
  }
  if (!read) {
    lost(GPUPROF_LOSS_DETAIL, 1);
  }
}

// Starts a new epoch, in which end_launch() ignores launches of the earlier epochs. Epochs are odd, so never 0.
void begin_epoch() {
  const uint64_t epoch = load_relaxed(&state.launches) >> 32U;
  store_relaxed(&state.launches, ((epoch + 2) | 1U) << 32U);
}

uint32_t begin_launch() {
  return static_cast<uint32_t>(__atomic_fetch_add(&state.launches, uint64_t{1}, __ATOMIC_SEQ_CST) >> 32U);
}

void end_launch(uint32_t epoch) {
  uint64_t launches = load_relaxed(&state.launches);
  while (epoch == launches >> 32U && static_cast<uint32_t>(launches) != 0 &&
         !__atomic_compare_exchange_n(&state.launches, &launches, launches - 1, false, __ATOMIC_ACQ_REL,
                                      __ATOMIC_ACQUIRE)) {
  }
}

void switch_off() {
  for (Context& context : state.contexts) {
    if (context.state == kOn) {
      disable_counts(context.context);
      context.state = kOff;
    }
  }
}

// Forgets a destroyed context. If the lock is busy, only marks the context as gone; the next read then frees the entry.
void forget_context(CUcontext gone) {
  add_relaxed(&state.changes, 1U);
  constexpr int kLockTries = 10;
  const bool locked = try_lock_long(&state.lock, kLockTries);
  if (Context* context = find(gone); context != nullptr) {
    store_release(&context->state, locked ? uint32_t{kFree} : uint32_t{kGone});
  }
  if (locked) {
    unlock(&state.lock);
  }
}

void count_in_context(CUcontext launched_in) {
  const uint32_t recording = load_relaxed(&recordings);
  const uint32_t changes = load_relaxed(&state.changes);
  if ((noted.context == launched_in && noted.recording == recording && noted.changes == changes) ||
      load_relaxed(&state.unusable) != 0 || load_relaxed(&state.paused) != 0 || !try_lock_bounded(&state.lock)) {
    return;
  }
  Context* context = find(launched_in);
  context = context != nullptr ? context : add(launched_in);
  if (context != nullptr && context->state == kOff) {
    switch_on(*context);
  }
  noted = {context != nullptr ? launched_in : nullptr, recording, changes};
  unlock(&state.lock);
}

void begin_counting(bool /*again*/) {
  add_relaxed(&recordings, 1U);
  if (try_lock_bounded(&state.lock)) {
    state.reported = 0;
    state.paused = 0;
    state.reading = 0;
    begin_epoch();
    state.abandoned = 0;
    state.unusable = 0;
    state.read_ns = 0;
    for (Context& context : state.contexts) {
      context = {};
    }
    unlock(&state.lock);
  }
  const bool counts = wants(GPUPROF_OPTION_COUNTS);
  store_relaxed(&state.wanted, counts ? 1U : 0U);
  if (!counts) {
    return;
  }
  if (!session().api.sass.complete || !session().api.sampling.complete) {
    store_relaxed(&state.unusable, 1U);
    report_off("this CUPTI has no SASS metrics: use CUPTI of CUDA 12.2 or later");
    return;
  }
  // Enables this event because without it CUPTI counts only the first function, and only once.
  enable_resource(CUPTI_CBID_RESOURCE_MODULE_PROFILED, true);
}

void flush_counting() {
  if ((now_ns() - state.read_ns >= kReadPaceNs || flush_requested()) && try_lock_bounded(&state.lock)) {
    read_held(nullptr, true);
    state.read_ns = now_ns();
    unlock(&state.lock);
  }
}

void pause_counting(bool paused) {
  store_relaxed(&state.paused, paused ? 1U : 0U);
  if (paused) {
    read_last(nullptr, true);
  } else {
    begin_epoch();
  }
  if (!try_lock_bounded(&state.lock)) {
    return;
  }
  if (paused) {
    switch_off();
  } else {
    for (Context& context : state.contexts) {
      if (context.state == kOff) {
        switch_on(context);
      }
    }
  }
  unlock(&state.lock);
}

void end_counting(bool /*hurry*/) {
  read_last(nullptr, true);
  if (try_lock_bounded(&state.lock)) {
    switch_off();
    unlock(&state.lock);
  }
}

}  // namespace

bool counting() {
  return load_relaxed(&state.wanted) != 0;
}

uint32_t begin_counted_launch(CUcontext context) {
  const uint64_t deadline = now_ns() + kLongestReadingNs;
  uint32_t epoch = begin_launch();
  while (__atomic_load_n(&state.reading, __ATOMIC_SEQ_CST) != 0 && load_relaxed(&state.abandoned) == 0) {
    if (now_ns() >= deadline) {  // Gives up, because the read may wait for a kernel that waits for this launch.
      store_relaxed(&state.abandoned, 1U);
      report_off("a kernel did not end while its counts were read: counting stopped");
      lost(GPUPROF_LOSS_DETAIL, 1);
      break;
    }
    end_launch(epoch);
    pause();
    epoch = begin_launch();
  }
  count_in_context(context);
  return epoch;
}

void end_counted_launch(uint32_t epoch) {
  end_launch(epoch);
}

void read_counts_now(CUcontext context) {
  read_last(context, false);
}

constexpr EventHandlers kCounting = {
    .is_on = counting,
    .begin = begin_counting,
    .flush = flush_counting,
    .pause = pause_counting,
    .end = end_counting,
    .context_ending = forget_context,
};

}  // namespace gpuprof::injection::cupti
