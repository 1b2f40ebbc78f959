// Counting what each instruction does (CUPTI's SASS metrics), on every context of the process: a pass of its own, in
// which CUPTI tells no times, as both together count nothing or hang. Nothing here happens unless the recorder asks for
// counts (GPUPROF_OPTION_COUNTS).
#pragma once

#include "cupti/event_handlers.h"

namespace gpuprof::injection::cupti {

// What is launched while recording is paused is not counted. Counts are handed over by flush, which waits for the GPU.
// Nothing is read in the callback for a module that goes: CUPTI crashes there.
extern const EventHandlers kCounting;

// Whether this recording is one that counts: then nothing else is recorded.
[[nodiscard]] bool counting();

// A launch in a context begins, or has ended: the first one switches counting on, before it runs. What is launched
// while counts are read would be lost: it waits, as long as the kernels take that run already.
// What the first returns is for the second.
uint32_t begin_counted_launch(CUcontext context);
void end_counted_launch(uint32_t epoch);

// Before a call that takes code away: its counts go with it. Waits for the GPU, as such a call does. Null: all
// contexts.
void read_counts_now(CUcontext context);

}  // namespace gpuprof::injection::cupti
