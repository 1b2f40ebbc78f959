#include "cupti/pc_sampling.h"

#include <cstdio>

#include "base/atomics.h"
#include "base/guard.h"
#include "base/monotonic_clock.h"
#include "cupti/pc_samples.h"
#include "cupti/sampled_code.h"
#include "cupti/sampling_calls.h"
#include "cupti/sampling_words.h"
#include "cupti/session.h"
#include "ipc/emit.h"
#include "runtime/lifecycle.h"

namespace gpuprof::injection::cupti {
namespace {

constexpr uint32_t kMaxContexts = 64;
constexpr uint64_t kMillisecond = 1000000;
constexpr uint64_t kReadPaceNs = 950 * kMillisecond;  // the flusher comes each 200 ms
constexpr uint64_t kLateNs = 250 * kMillisecond;      // CUPTI's threads look for new samples each 100 ms
constexpr uint64_t kEndNs = 1200 * kMillisecond;      // to end in all contexts, of what the exit may take
constexpr int kMaxReadings = 4096;                    // in a row
constexpr uint32_t kMaxRestarts = 16;                 // without a good reading in between
constexpr int kLockTries = 10;

enum State : uint32_t {
  kFree = 0,
  kWanted = 1,  // to be sampled; the flusher begins it
  kOn = 2,
  kRefused = 3,
  kGone = 4  // the context is not there any more: nothing may be asked of it
};

struct SampledContext {
  uint32_t state;  // atomic, enum State
  uint32_t lock;   // of all below, and held in CUPTI's calls for this context
  uint32_t full;   // CUPTI's buffer was: it has to begin anew
  uint32_t restarts;
  bool paused;
  bool known;  // its ids
  uint32_t id;
  uint32_t device;
  uint32_t window;  // its number, until it has been told
  uint64_t begin_ns;
  uint64_t floor_ns;  // nothing before it was recorded
  SampleCounts counts;
  Sampler sampler;
};

struct Sampling {
  uint32_t wanted;  // atomic
  uint32_t paused;  // atomic
  uint32_t ended;   // atomic
  uint32_t off_told;
  uint32_t windows;   // atomic; the last number
  uint32_t restarts;  // atomic
  uint64_t read_ns;
  uint32_t table_lock;  // held where a place is taken
  SampleCounts totals;  // each atomic
};

constinit Sampling sampling = {};
constinit SampledContext contexts[kMaxContexts] = {};
constinit thread_local CUcontext noted_context = nullptr;

void tell_off(const char* reason) {
  if (swap_if(&sampling.off_told, 0, 1)) {
    meta("sampling.off", reason);
  }
}

void tell_refused(CUptiResult result) {
  char reason[256];
  const char* known = refusal_text(result);
  snprintf(reason, sizeof(reason), "%s (CUPTI error %u)", known != nullptr ? known : result_text(session().api, result),
           static_cast<unsigned>(result));
  tell_off(reason);
}

uint32_t ring_of(const SampledContext& context) {
  return static_cast<uint32_t>(&context - contexts);
}

bool lock_patiently(uint32_t* lock) {
  for (int i = 0; i < kLockTries; ++i) {
    if (try_lock_bounded(lock)) {
      return true;
    }
  }
  return false;
}

SampledContext* find(CUcontext wanted) {
  for (SampledContext& context : contexts) {
    const uint32_t state = load_acquire(&context.state);
    if (state != kFree && state != kGone && context.sampler.context == wanted) {
      return &context;
    }
  }
  return nullptr;
}

// The context's place, a new one where it has none. Null: it can not be had.
SampledContext* find_or_add(CUcontext wanted) {
  SampledContext* found = find(wanted);
  if (found != nullptr || wanted == nullptr || !try_lock_bounded(&sampling.table_lock)) {
    return found;
  }
  found = find(wanted);
  for (uint32_t i = 0; found == nullptr && i < kMaxContexts; ++i) {
    SampledContext& context = contexts[i];
    if (load_acquire(&context.state) == kFree && try_lock_bounded(&context.lock)) {
      context = {kFree, 1, 0, 0, false, false, 0, 0, 0, 0, 0, {}, {}};
      context.sampler.context = wanted;
      store_release(&context.state, uint32_t{kWanted});
      unlock(&context.lock);
      found = &context;
    }
  }
  unlock(&sampling.table_lock);
  if (found == nullptr) {
    tell_off("more than 64 contexts at once: the others are not sampled");
  }
  return found;
}

void learn_ids(SampledContext& context) {
  const PcSamplingApi& api = session().api.sampling;
  context.known = context.known || (api.context_id(context.sampler.context, &context.id) == CUPTI_SUCCESS &&
                                    api.device_id(context.sampler.context, &context.device) == CUPTI_SUCCESS);
}

// All below: with the context's lock held.

void open_window(SampledContext& context) {
  context.window = add_relaxed(&sampling.windows, 1U) + 1;
  context.begin_ns = now_ns();
  context.counts = {};
}

void start_again(SampledContext& context) {
  const gpuprof_options* wanted = options();
  const CUptiResult result = start_sampler(&context.sampler, wanted != nullptr ? wanted->sampling_period : 0);
  if (result != CUPTI_SUCCESS) {
    free_sampler(&context.sampler);
    tell_refused(result);
  }
  store_release(&context.state, uint32_t{result == CUPTI_SUCCESS ? kOn : kRefused});
}

void start(SampledContext& context) {
  open_window(context);
  context.floor_ns = context.begin_ns;
  context.paused = false;
  start_again(context);
}

// What is in a buffer becomes part of the window.
void take(SampledContext& context, const PcBuffer& buffer, bool may_wait) {
  if (context.paused) {
    return;
  }
  count_samples(buffer, context.sampler.reasons, &context.counts);
  emit_samples(buffer, context.sampler.reasons, context.window, ring_of(context), may_wait);
}

// All that CUPTI has at hand.
void read(SampledContext& context, bool may_wait) {
  for (int i = 0; i < kMaxReadings; ++i) {
    const CUptiResult result = read_sampler(&context.sampler);
    const CUpti_PCSamplingData& data = context.sampler.read.data;
    take(context, context.sampler.read, may_wait);
    if (result == CUPTI_ERROR_OUT_OF_MEMORY || data.hardwareBufferFull != 0) {
      context.full = 1;
      return;
    }
    if (result != CUPTI_SUCCESS || data.remainingNumPcs == 0 || data.totalNumPcs == 0) {
      break;
    }
  }
  context.restarts = 0;
}

void add_totals(const SampleCounts& counts) {
  add_relaxed(&sampling.totals.total, counts.total);
  add_relaxed(&sampling.totals.handed, counts.handed);
  add_relaxed(&sampling.totals.dropped, counts.dropped);
  add_relaxed(&sampling.totals.foreign, counts.foreign);
}

// Ends the window, and begins the next. One that could not be told goes on: what it counts is in no other.
void close_window(SampledContext& context, bool may_wait) {
  const SampleCounts& counts = context.counts;
  if (counts.handed + counts.dropped + counts.foreign == 0) {
    context.begin_ns = now_ns();
    return;
  }
  learn_ids(context);
  // What CUPTI tells late was taken before the last reading.
  const uint64_t late = context.begin_ns > kLateNs ? context.begin_ns - kLateNs : 0;
  gpuprof_sample_window window = {};
  window.start_ns = late > context.floor_ns ? late : context.floor_ns;
  window.end_ns = now_ns();
  window.handed = counts.handed;
  window.dropped = counts.dropped;
  window.foreign = counts.foreign;
  window.period = context.sampler.period;
  window.window = context.window;
  window.device = context.device;
  window.context = context.id;
  if (emit_window(window, ring_of(context), may_wait)) {
    add_totals(counts);
    open_window(context);
  }
}

void stop(SampledContext& context, State next, bool may_wait) {
  stop_sampler(&context.sampler);
  take(context, context.sampler.rest, may_wait);
  close_window(context, may_wait);
  free_sampler(&context.sampler);
  store_release(&context.state, uint32_t{next});
}

// CUPTI goes on after its buffer was full only if it begins anew.
void restart(SampledContext& context) {
  context.full = 0;
  meta("sampling.restarts", uint64_t{add_relaxed(&sampling.restarts, 1U)} + 1);
  if (++context.restarts > kMaxRestarts) {
    tell_off("CUPTI's buffers are full again and again: sample less often (a larger period)");
    stop(context, kRefused, true);
    return;
  }
  stop_sampler(&context.sampler);
  take(context, context.sampler.rest, true);
  close_window(context, true);
  start_again(context);
}

void release(SampledContext& context) {
  free_sampler(&context.sampler);
  store_release(&context.state, uint32_t{kFree});
}

// Calls `act` for each context, with its lock held, if it can be had.
template <typename Act>
void for_each(Act act) {
  for (SampledContext& context : contexts) {
    if (load_acquire(&context.state) == kFree || !lock_patiently(&context.lock)) {
      continue;
    }
    act(context);
    unlock(&context.lock);
  }
}

bool is(const SampledContext& context, State state) {
  return load_relaxed(&context.state) == state;
}

// ---- in the target's threads

void context_created(CUcontext created) {
  SampledContext* context = find_or_add(created);
  if (context == nullptr || load_relaxed(&sampling.paused) != 0 || !try_lock_bounded(&context->lock)) {
    return;  // the flusher will do it
  }
  if (is(*context, kWanted)) {
    start(*context);
  }
  unlock(&context->lock);
}

// Whoever holds the lock finds that the context is gone: its last samples are lost then.
void context_ending(CUcontext ending) {
  SampledContext* context = find(ending);
  if (context == nullptr) {
    return;
  }
  if (!lock_patiently(&context->lock)) {
    store_release(&context->state, uint32_t{kGone});
    return;
  }
  if (is(*context, kOn)) {
    read(*context, false);
    stop(*context, kGone, false);
  }
  release(*context);
  unlock(&context->lock);
}

void read_one(SampledContext& context) {
  if (is(context, kOn) && try_lock_bounded(&context.lock)) {
    if (is(context, kOn) && context.full == 0) {
      read(context, false);
      close_window(context, false);
    }
    unlock(&context.lock);
  }
}

// Before another module can take this one's place.
void module_unloading(CUcontext of) {
  if (of != nullptr) {
    if (SampledContext* context = find(of); context != nullptr) {
      read_one(*context);
    }
    return;
  }
  for (SampledContext& context : contexts) {
    read_one(context);
  }
}

bool sampling_wanted() {
  return load_relaxed(&sampling.wanted) != 0 && load_relaxed(&sampling.ended) == 0;
}

}  // namespace

void begin_sampling(CUpti_SubscriberHandle subscriber) {
  const gpuprof_options* wanted = options();
  sampling = {};
  for_each(release);
  forget_code();
  if (wanted == nullptr || (wanted->flags & GPUPROF_OPTION_SAMPLES) == 0) {
    return;
  }
  if (!session().api.sampling.complete) {
    tell_off("this CUPTI has no PC sampling: use that of CUDA 12 or later");
    return;
  }
  session().api.enable_callback(1, subscriber, CUPTI_CB_DOMAIN_RESOURCE, CUPTI_CBID_RESOURCE_CONTEXT_CREATED);
  store_release(&sampling.wanted, 1U);
}

void on_sampling_callback(CUpti_CallbackId id, const CUpti_ResourceData* data) {
  if (!sampling_wanted()) {
    return;
  }
  const Guard guard;
  if (id == CUPTI_CBID_RESOURCE_CONTEXT_CREATED) {
    context_created(data->context);
  } else if (id == CUPTI_CBID_RESOURCE_CONTEXT_DESTROY_STARTING) {
    context_ending(data->context);
  } else if (id == CUPTI_CBID_RESOURCE_MODULE_UNLOAD_STARTING) {
    module_unloading(data->context);
  } else if (id == CUPTI_CBID_RESOURCE_MODULE_LOADED && data->resourceDescriptor != nullptr) {
    keep_code(*static_cast<const CUpti_ModuleResourceData*>(data->resourceDescriptor));
  }
}

void note_context(CUcontext context) {
  if (context != noted_context && sampling_wanted()) {
    noted_context = context;
    find_or_add(context);
  }
}

void flush_sampling() {
  if (!sampling_wanted()) {
    return;
  }
  const Guard guard;
  hand_over_kept_code();
  const uint64_t now = now_ns();
  const bool due = now - sampling.read_ns >= kReadPaceNs || flush_requested();
  const bool paused = load_relaxed(&sampling.paused) != 0;
  for_each([=](SampledContext& context) {
    if (is(context, kGone)) {
      release(context);
    } else if (is(context, kWanted) && !paused) {
      start(context);
    } else if (is(context, kOn) && due) {
      read(context, true);
      close_window(context, true);
      if (context.full != 0) {
        restart(context);
      }
    }
  });
  sampling.read_ns = due ? now : sampling.read_ns;
}

void pause_sampling(bool paused) {
  if (!sampling_wanted()) {
    return;
  }
  const Guard guard;
  const bool silent = recorder_silent();  // for good, perhaps: then nobody pays for it
  for_each([=](SampledContext& context) {
    if (!is(context, kOn)) {
      return;
    }
    read(context, true);
    if (!paused) {
      open_window(context);
      context.floor_ns = context.begin_ns;
    } else if (silent) {
      stop(context, kWanted, true);
    } else {
      close_window(context, true);
    }
    context.paused = paused;
  });
  store_relaxed(&sampling.paused, paused ? 1U : 0U);
}

void end_sampling() {
  if (!sampling_wanted()) {
    return;
  }
  const Guard guard;
  hand_over_kept_code();
  store_relaxed(&sampling.ended, 1U);
  const uint64_t deadline = now_ns() + kEndNs;
  for_each([=](SampledContext& context) {
    if (is(context, kOn)) {
      read(context, true);
      if (now_ns() < deadline) {
        stop(context, kGone, true);
      } else {
        close_window(context, true);
      }
    }
  });
}

void report_sampling_totals() {
  if (load_relaxed(&sampling.wanted) == 0) {
    return;
  }
  meta("sampling.total_samples", load_relaxed(&sampling.totals.total));
  meta("sampling.handed_samples", load_relaxed(&sampling.totals.handed));
  meta("sampling.dropped_samples", load_relaxed(&sampling.totals.dropped));
  meta("sampling.foreign_samples", load_relaxed(&sampling.totals.foreign));
}

}  // namespace gpuprof::injection::cupti
