// Sampling inside of kernels, on every context of the process: when it begins and ends, when it is read, and by whom.
// Nothing here happens unless the recorder asks for samples (GPUPROF_OPTION_SAMPLES). Where CUPTI refuses, recording
// goes on without.
#pragma once

#include "cupti/event_handlers.h"
#include "cupti/sampling/exact_ranges.h"

namespace gpuprof::injection::cupti {

// Reads what has been taken, once a second, or at once where the recorder asks for it. Samples that are taken while
// recording is paused are read and forgotten. At the end of the process, CUPTI is left to sample some of many contexts,
// as ending it takes 0.2 s for each.
extern const EventHandlers kSampling;

// Whether this recording samples, and has not ended.
[[nodiscard]] bool sampling();

// A launch in a context that may have been there before us. On the launching thread: does next to nothing.
void note_context(CUcontext context);

// A launch of the kernel `name` begins or has ended on this thread, and may be one that is sampled by itself. What
// begin_sampled_launch() returns is for the other two; after launch(), the range is opened in which CUPTI samples.
[[nodiscard]] bool begin_sampled_launch(uint64_t correlation, uint32_t name);
[[nodiscard]] ExactRange open_sampled_launch(CUcontext context);
void end_sampled_launch(CUcontext context, const ExactRange& range);

// Tells what CUPTI says to have taken, to hold the profile's samples against.
void report_sampling_totals();

}  // namespace gpuprof::injection::cupti
