#include "cupti/sampling/pc_sampling.h"

#include <cstdint>

#include "base/atomics.h"
#include "base/monotonic_clock.h"
#include "cupti/sampling/exact_launches.h"
#include "cupti/sampling/sampled_context.h"
#include "cupti/session.h"
#include "ipc/emit.h"
#include "runtime/lifecycle.h"

namespace gpuprof::injection::cupti {
namespace {

constexpr uint32_t kMaxContexts = 64;
constexpr uint64_t kMillisecond = 1000000;
// 1 s, minus a tolerance because the service thread may check early
constexpr uint64_t kReadPaceNs = 950 * kMillisecond;
constexpr uint64_t kEndNs = 1200 * kMillisecond;  // Limit on the time for stopping all contexts at exit.
constexpr int kLockTries = 10;

struct Sampling {
  uint32_t wanted;  // atomic
  uint32_t paused;  // atomic
  uint32_t ended;   // atomic
  uint64_t read_ns;
  uint32_t table_lock;  // held while a thread takes a table entry
};

constinit Sampling current = {};
constinit SampledContext contexts[kMaxContexts] = {};
uint32_t recordings = 0;  // atomic

// The context of the thread's last launch in this recording.
struct NotedContext {
  CUcontext context;
  uint32_t recording;
};
constinit thread_local NotedContext noted = {};

SampledContext* find(CUcontext wanted) {
  for (SampledContext& context : contexts) {
    const uint32_t state = load_acquire(&context.state);
    if (state != kFree && state != kGone && context.sampler.context == wanted) {
      return &context;
    }
  }
  return nullptr;
}

// Returns the context's entry; adds a missing one. Returns null if the table is full or its lock is busy.
SampledContext* find_or_add(CUcontext wanted) {
  SampledContext* found = find(wanted);
  if (found != nullptr || wanted == nullptr || !try_lock_bounded(&current.table_lock)) {
    return found;
  }
  found = find(wanted);
  for (uint32_t i = 0; found == nullptr && i < kMaxContexts; ++i) {
    SampledContext& context = contexts[i];
    if (load_acquire(&context.state) == kFree && try_lock_bounded(&context.lock)) {
      context = {kFree, 1, i, 0, 0, false, false, 0, 0, 0, 0, 0, {}, {}, {}};
      context.sampler.context = wanted;
      store_release(&context.state, uint32_t{kWanted});
      unlock(&context.lock);
      found = &context;
    }
  }
  unlock(&current.table_lock);
  if (found == nullptr) {
    report_sampling_off("more than 64 contexts at once: the others are not sampled");
  }
  return found;
}

// Frees the entry but keeps its buffers, because CUPTI may still use them if the context was destroyed without a stop.
void release(SampledContext& context) {
  store_release(&context.state, uint32_t{kFree});
}

// Calls `act` for each context with its lock held. Skips contexts whose lock is busy.
template <typename Act>
void for_each(Act act) {
  for (SampledContext& context : contexts) {
    if (load_acquire(&context.state) == kFree || !try_lock_long(&context.lock, kLockTries)) {
      continue;
    }
    act(context);
    unlock(&context.lock);
  }
}

bool is(const SampledContext& context, State state) {
  return load_relaxed(&context.state) == state;
}

// ---- called in the target's threads

void context_created(CUcontext created) {
  SampledContext* context = find_or_add(created);
  if (context == nullptr || load_relaxed(&current.paused) != 0 || !try_lock_bounded(&context->lock)) {
    return;  // the service thread then starts sampling
  }
  if (is(*context, kWanted)) {
    start_context(*context);
  }
  unlock(&context->lock);
}

// Stops sampling in a context that is being destroyed. If the lock is busy, only marks the context as gone; its last
// samples are then lost.
void context_ending(CUcontext ending) {
  SampledContext* context = find(ending);
  if (context == nullptr) {
    return;
  }
  if (!try_lock_long(&context->lock, kLockTries)) {
    store_release(&context->state, uint32_t{kGone});
    return;
  }
  if (is(*context, kOn)) {
    read_context(*context, false);
    stop_context(*context, kGone, false);
  }
  release(*context);
  unlock(&context->lock);
}

void read_one(SampledContext& context) {
  if (is(context, kOn) && try_lock_bounded(&context.lock)) {
    if (is(context, kOn) && context.full == 0) {
      read_context(context, false);
      close_window(context, false);
    }
    unlock(&context.lock);
  }
}

// Reads the samples before another module can be loaded to this module's address.
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

// ---- stages of a recording

void begin_sampling(bool again) {
  current = {};
  add_relaxed(&recordings, 1U);
  for_each(release);
  if (!again) {
    forget_samples();
    begin_exact_launches();
  }
  if (!wants(GPUPROF_OPTION_SAMPLES)) {
    return;
  }
  if (!session().api.sampling.complete) {
    report_sampling_off("this CUPTI has no PC sampling: use CUPTI of CUDA 12 or later");
    return;
  }
  uint32_t version = 0;
  if (exact_wanted() && (session().api.get_version(&version) != CUPTI_SUCCESS || !samples_name_launches(version))) {
    report_sampling_off("samples of this CUPTI have no correlation ids: use CUPTI of CUDA 12.4 or later");
    return;
  }
  store_release(&current.wanted, 1U);
}

void flush_sampling() {
  const uint64_t now = now_ns();
  const bool due = now - current.read_ns >= kReadPaceNs || flush_requested();
  const bool paused = load_relaxed(&current.paused) != 0;
  for_each([=](SampledContext& context) {
    if (is(context, kGone)) {
      release(context);
    } else if (is(context, kWanted) && !paused) {
      start_context(context);
    } else if (is(context, kOn) && due) {
      read_context(context, true);
      close_window(context, true);
      if (context.full != 0) {
        restart_context(context);
      }
    }
  });
  current.read_ns = due ? now : current.read_ns;
}

void pause_sampling(bool paused) {
  // In a pause, CUPTI usually continues to sample. But a silent recorder may have been killed, so sampling then stops.
  const bool silent = recorder_silent();
  for_each([=](SampledContext& context) {
    if (!is(context, kOn)) {
      return;
    }
    read_context(context, true);
    if (!paused) {
      resume_window(context);
    } else if (silent) {
      stop_context(context, kWanted, true);
    } else {
      close_window(context, true);
    }
    context.paused = paused;
  });
  store_relaxed(&current.paused, paused ? 1U : 0U);
}

void end_sampling(bool hurry) {
  store_relaxed(&current.ended, 1U);
  const uint64_t deadline = hurry ? now_ns() + kEndNs : UINT64_MAX;
  for_each([=](SampledContext& context) {
    if (is(context, kOn)) {
      read_context(context, true);
      if (now_ns() < deadline) {
        stop_context(context, kGone, true);
      } else {
        close_window(context, true);
      }
    }
  });
}

}  // namespace

bool sampling() {
  return load_relaxed(&current.wanted) != 0 && load_relaxed(&current.ended) == 0;
}

void note_context(CUcontext context) {
  if (load_relaxed(&current.wanted) == 0) {
    return;
  }
  const uint32_t recording = load_relaxed(&recordings);
  if (noted.context != context || noted.recording != recording) {
    noted = {context, recording};
    find_or_add(context);
  }
}

bool begin_sampled_launch(uint64_t correlation, uint32_t name) {
  return exact_wanted() && sampling() && load_relaxed(&current.paused) == 0 && wants_exact(name) &&
         emit_sampled_launch(correlation);
}

ExactRange open_sampled_launch(CUcontext of) {
  SampledContext* context = find(of);
  const ExactRange range = context != nullptr && is(*context, kOn) ? open_range(&context->ranges, of) : ExactRange{};
  count_exact(range.generation != 0);
  return range;
}

void end_sampled_launch(CUcontext of, const ExactRange& range) {
  if (SampledContext* context = find(of); context != nullptr) {
    close_range(&context->ranges, of, range);
  }
  charge_exact(now_ns() - range.opened_ns);
}

void report_sampling_totals() {
  if (load_relaxed(&current.wanted) != 0) {
    report_sample_counts();
    report_exact_counts();
  }
}

constexpr EventHandlers kSampling = {
    .is_on = sampling,
    .begin = begin_sampling,
    .flush = flush_sampling,
    .pause = pause_sampling,
    .end = end_sampling,
    .context_created = context_created,
    .context_ending = context_ending,
    .module_unloading = module_unloading,
};

}  // namespace gpuprof::injection::cupti
