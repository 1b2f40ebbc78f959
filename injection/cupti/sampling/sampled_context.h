// One sampled context and its sampling windows. All functions need the context's lock. `may_wait`: wait for free space
// in the ring; never on a thread of the target.
#pragma once

#include <cstdint>

#include "cupti/sampling/exact_ranges.h"
#include "cupti/sampling/sampling_calls.h"

namespace gpuprof::injection::cupti {

enum State : uint32_t {
  kFree = 0,
  kWanted = 1,  // the service thread has yet to start sampling the context
  kOn = 2,
  kRefused = 3,
  kGone = 4  // the context was destroyed, so CUPTI must not be called with it
};

struct SampledContext {
  uint32_t state;  // atomic, enum State
  uint32_t lock;   // protects the fields below except the context handle; held during CUPTI calls for the context
  uint32_t ring;
  uint32_t full;  // 1: CUPTI's buffer was full, so sampling must be restarted
  uint32_t restarts;
  bool paused;
  bool known;  // `id` and `device` are known
  uint32_t id;
  uint32_t device;
  uint32_t window;
  uint64_t begin_ns;
  uint64_t floor_ns;  // start of the recording; no window may begin earlier
  SampleCounts counts;
  Sampler sampler;
  ExactRanges ranges;  // has its own lock
};

void start_context(SampledContext& context);

// Moves CUPTI's samples to the window, or discards them if the context is paused. Reads nothing while an exact range is
// open.
void read_context(SampledContext& context, bool may_wait);

// Emits the window and begins the next one. If the record cannot be written, the window stays open and keeps its
// counts.
void close_window(SampledContext& context, bool may_wait);

// Begins a new window when recording resumes. It excludes samples from before this call that CUPTI delivers late.
void resume_window(SampledContext& context);

// Reads the remaining samples and stops sampling. Takes about 200 ms.
void stop_context(SampledContext& context, State next, bool may_wait);

// Restarts sampling after CUPTI's buffer was full. Without a restart, CUPTI would not continue.
void restart_context(SampledContext& context);

// Reports why samples are missing. Only the first reason of a recording is reported.
void report_sampling_off(const char* reason);

// Reports how many samples CUPTI has delivered, so that the profile's samples can be checked.
void report_sample_counts();
void forget_samples();

}  // namespace gpuprof::injection::cupti
