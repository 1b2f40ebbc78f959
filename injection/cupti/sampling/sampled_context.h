// One context that is sampled: its windows of time, and what is taken in them. All functions are to be called with the
// context's lock held. `may_wait`: for space in the ring, never in a thread of the target's.
#pragma once

#include <cstdint>

#include "cupti/sampling/exact_ranges.h"
#include "cupti/sampling/sampling_calls.h"

namespace gpuprof::injection::cupti {

enum State : uint32_t {
  kFree = 0,
  kWanted = 1,  // to be sampled; the service thread begins it
  kOn = 2,
  kRefused = 3,
  kGone = 4  // the context is not there any more: nothing may be asked of it
};

struct SampledContext {
  uint32_t state;  // atomic, enum State
  uint32_t lock;   // of all below but for the context itself, and held in CUPTI's calls for it
  uint32_t ring;   // for its records
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
  ExactRanges ranges;  // not of `lock`
};

// Begins to sample it, and a first window.
void start_context(SampledContext& context);

// All that CUPTI has at hand becomes part of the window; where the context is paused, it is forgotten. Nothing is read
// while a range is open.
void read_context(SampledContext& context, bool may_wait);

// Ends the window, and begins the next. One that could not be told goes on: what it counts is in no other.
void close_window(SampledContext& context, bool may_wait);

// A window that begins now. Nothing before was recorded.
void resume_window(SampledContext& context);

// Reads what CUPTI still has, and ends sampling and the window. Takes some 200 ms.
void stop_context(SampledContext& context, State next, bool may_wait);

// Where CUPTI's buffer was full, it goes on only if it begins anew.
void restart_context(SampledContext& context);

// Why there are no samples, or not all. Once a recording.
void tell_sampling_off(const char* reason);

// Of all contexts: what CUPTI says to have taken, to hold the profile's samples against.
void report_sample_counts();
void forget_samples();

}  // namespace gpuprof::injection::cupti
