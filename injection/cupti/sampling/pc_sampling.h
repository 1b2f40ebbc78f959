// Samples instructions inside kernels in all contexts, if the recorder requests samples (GPUPROF_OPTION_SAMPLES). If
// CUPTI refuses, recording continues without samples.
#pragma once

#include "cupti/event_handlers.h"
#include "cupti/sampling/exact_ranges.h"

namespace gpuprof::injection::cupti {

// Reads samples once a second, and at a requested flush. Discards samples taken while recording is paused. Stopping
// takes 0.2 s per context. If there are many contexts, the process ends before all of them are stopped.
extern const EventHandlers kSampling;

// Returns whether this recording samples and has not ended.
[[nodiscard]] bool sampling();

// Remembers that the thread launches in this context, which may be older than the recording. Cheap. Call it on the
// launching thread.
void note_context(CUcontext context);

// Call these around a launch of kernel `name`, which may be sampled individually. If begin_sampled_launch() returns
// true, call launch(). Then call open_sampled_launch(), which opens the CUPTI range, and end_sampled_launch() after the
// driver's call.
[[nodiscard]] bool begin_sampled_launch(uint64_t correlation, uint32_t name);
[[nodiscard]] ExactRange open_sampled_launch(CUcontext context);
void end_sampled_launch(CUcontext context, const ExactRange& range);

// Reports how many samples CUPTI has delivered, so that the profile's samples can be checked.
void report_sampling_totals();

}  // namespace gpuprof::injection::cupti
