#include "cupti/sampling/sampled_context.h"

#include <cstdio>

#include "base/atomics.h"
#include "base/monotonic_clock.h"
#include "cupti/sampling/exact_launches.h"
#include "cupti/sampling/pc_samples.h"
#include "cupti/sampling/sampling_texts.h"
#include "cupti/session.h"
#include "ipc/emit.h"

namespace gpuprof::injection::cupti {
namespace {

constexpr uint64_t kMillisecond = 1000000;
// CUPTI delivers a sample at most this late; its threads poll every 100 ms.
constexpr uint64_t kLateNs = 250 * kMillisecond;
constexpr int kMaxReadings = 4096;     // limit on the CUPTI reads in one call of read_context()
constexpr uint32_t kMaxRestarts = 16;  // limit on successive restarts without a successful read

// Counters of all contexts; each is atomic.
struct Sums {
  uint32_t off_reported;
  uint32_t windows;  // number of the last window
  uint32_t restarts;
  SampleCounts totals;
};
constinit Sums sums = {};

void report_refusal(CUptiResult result) {
  char reason[256];
  const char* known = refusal_text(result);
  snprintf(reason, sizeof(reason), "%s (CUPTI error %u)", known != nullptr ? known : result_text(session().api, result),
           static_cast<unsigned>(result));
  report_sampling_off(reason);
}

void learn_ids(SampledContext& context) {
  const PcSamplingApi& api = session().api.sampling;
  context.known = context.known || (api.context_id(context.sampler.context, &context.id) == CUPTI_SUCCESS &&
                                    api.device_id(context.sampler.context, &context.device) == CUPTI_SUCCESS);
}

void open_window(SampledContext& context) {
  context.window = add_relaxed(&sums.windows, 1U) + 1;
  context.begin_ns = now_ns();
  context.counts = {};
}

// Sets the state unless the context is marked as destroyed. Another thread may set that mark without the lock.
void become(SampledContext& context, State next) {
  const uint32_t now = load_relaxed(&context.state);
  if (now != kGone) {
    swap_if(&context.state, now, next);
  }
}

void start_again(SampledContext& context) {
  const gpuprof_options* wanted = options();
  const CUptiResult result =
      start_sampler(&context.sampler, wanted != nullptr ? wanted->sampling_period : 0, exact_wanted());
  if (result != CUPTI_SUCCESS) {
    free_sampler(&context.sampler);
    report_refusal(result);
  }
  become(context, result == CUPTI_SUCCESS ? kOn : kRefused);
}

void take(SampledContext& context, const PcBuffer& buffer, bool may_wait) {
  if (context.paused) {
    return;
  }
  count_samples(buffer, context.sampler.reasons, &context.counts);
  emit_samples(buffer, context.sampler.reasons, context.window, context.ring, may_wait);
}

void add_totals(const SampleCounts& counts) {
  add_relaxed(&sums.totals.total, counts.total);
  add_relaxed(&sums.totals.handed, counts.handed);
  add_relaxed(&sums.totals.dropped, counts.dropped);
  add_relaxed(&sums.totals.foreign, counts.foreign);
}

}  // namespace

void report_sampling_off(const char* reason) {
  if (swap_if(&sums.off_reported, 0, 1)) {
    meta("sampling.off", reason);
  }
}

void start_context(SampledContext& context) {
  resume_window(context);
  context.paused = false;
  start_again(context);
}

void resume_window(SampledContext& context) {
  open_window(context);
  context.floor_ns = context.begin_ns;
}

namespace {

// Keeps the context's ranges closed while this object lives. had() returns false if a range stays open.
class Quiet {
 public:
  Quiet(SampledContext& context, bool may_wait)
      : ranges_(exact_wanted() ? &context.ranges : nullptr),
        had_(ranges_ == nullptr || hold_ranges(ranges_, context.sampler.context, may_wait)) {}
  ~Quiet() {
    if (ranges_ != nullptr && had_) {
      release_ranges(ranges_);
    }
  }
  Quiet(const Quiet&) = delete;
  Quiet& operator=(const Quiet&) = delete;
  [[nodiscard]] bool had() const { return had_; }

 private:
  ExactRanges* ranges_;
  bool had_;
};

void read_all(SampledContext& context, bool may_wait) {
  for (int i = 0; i < kMaxReadings; ++i) {
    const CUptiResult result = read_sampler(&context.sampler);
    const CUpti_PCSamplingData& data = context.sampler.read.data;
    take(context, context.sampler.read, may_wait);
    if (result == CUPTI_ERROR_OUT_OF_MEMORY || data.hardwareBufferFull != 0) {
      context.full = 1;
      return;
    }
    if (result != CUPTI_SUCCESS) {
      report_refusal(result);
      return;
    }
    if (data.remainingNumPcs == 0 || data.totalNumPcs == 0) {
      break;
    }
  }
  context.restarts = 0;
}

}  // namespace

void read_context(SampledContext& context, bool may_wait) {
  if (const Quiet quiet(context, may_wait); quiet.had()) {
    read_all(context, may_wait);
  }
}

void close_window(SampledContext& context, bool may_wait) {
  const SampleCounts& counts = context.counts;
  if (counts.handed + counts.dropped + counts.foreign == 0) {
    context.begin_ns = now_ns();
    return;
  }
  learn_ids(context);
  // CUPTI delivers samples up to kLateNs late. So the window starts that much earlier, to include late samples.
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
  window.whole = context.device;
  window.context = context.id;
  if (emit_window(window, context.ring, may_wait)) {
    add_totals(counts);
    open_window(context);
  }
}

namespace {

void stop_quiet(SampledContext& context, State next, bool may_wait) {
  const CUptiResult result = stop_sampler(&context.sampler);
  take(context, context.sampler.rest, may_wait);
  close_window(context, may_wait);
  if (result == CUPTI_SUCCESS) {  // on failure CUPTI may still write to the buffers, so they stay allocated
    free_sampler(&context.sampler);
  }
  become(context, next);
}

}  // namespace

void stop_context(SampledContext& context, State next, bool may_wait) {
  if (const Quiet quiet(context, may_wait); quiet.had()) {  // a launch is being sampled if had() is false
    stop_quiet(context, next, may_wait);
  }
}

void restart_context(SampledContext& context) {
  const Quiet quiet(context, true);
  if (!quiet.had()) {
    return;
  }
  context.full = 0;
  meta("sampling.restarts", uint64_t{add_relaxed(&sums.restarts, 1U)} + 1);
  if (++context.restarts > kMaxRestarts) {
    report_sampling_off("CUPTI's buffers overflow repeatedly: sample less often (a larger period)");
    stop_quiet(context, kRefused, true);
    return;
  }
  stop_sampler(&context.sampler);
  take(context, context.sampler.rest, true);
  close_window(context, true);
  start_again(context);
}

void report_sample_counts() {
  meta("sampling.total_samples", load_relaxed(&sums.totals.total));
  meta("sampling.handed_samples", load_relaxed(&sums.totals.handed));
  meta("sampling.dropped_samples", load_relaxed(&sums.totals.dropped));
  meta("sampling.foreign_samples", load_relaxed(&sums.totals.foreign));
}

void forget_samples() {
  sums = {};
}

}  // namespace gpuprof::injection::cupti
