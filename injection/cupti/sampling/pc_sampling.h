// Sampling inside of kernels, on every context of the process: when it begins and ends, when it is read, and by whom.
// Nothing here happens unless the recorder asks for samples (GPUPROF_OPTION_SAMPLES). Where CUPTI refuses, recording
// goes on without.
#pragma once

#include "cupti/api/cupti_api.h"
#include "cupti/sampling/exact_ranges.h"

namespace gpuprof::injection::cupti {

// After the subscription, before anything else is recorded.
void begin_sampling(CUpti_SubscriberHandle subscriber);

// Of the resource domain: contexts come and go, modules are loaded and unloaded. Waits for locks of ours within bounds.
void on_sampling_callback(CUpti_CallbackId id, const CUpti_ResourceData* data);

// A launch in a context that may have been there before us. On the launching thread: does next to nothing.
void note_context(CUcontext context);

// A launch of the kernel `name` begins or has ended on this thread, and may be one that is sampled by itself. What
// begin_sampled_launch() returns is for the other two; after launch(), the range is opened in which CUPTI samples.
[[nodiscard]] bool begin_sampled_launch(uint64_t correlation, uint32_t name);
[[nodiscard]] ExactRange open_sampled_launch(CUcontext context);
void end_sampled_launch(CUcontext context, const ExactRange& range);

// From the flusher. Reads what has been taken, once a second, or at once where the recorder asks for it.
void flush_sampling();

// Samples that are taken while paused are read and forgotten.
void pause_sampling(bool paused);

// The last samples are read, and CUPTI samples no more; where we `hurry`, it is left to sample some of many contexts,
// as this takes 0.2 s for each. From the flusher.
void end_sampling(bool hurry);

// Tells what CUPTI says to have taken, to hold the profile's samples against.
void report_sampling_totals();

}  // namespace gpuprof::injection::cupti
