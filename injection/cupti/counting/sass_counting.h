// Counts what each instruction does (CUPTI's SASS metrics) in all contexts. Activity records stay off: if they are on,
// too, CUPTI counts nothing or hangs. Active only if the recorder requests counts (GPUPROF_OPTION_COUNTS).
#pragma once

#include "cupti/event_handlers.h"

namespace gpuprof::injection::cupti {

// Launches are not counted while recording is paused. The handler `flush` waits for the GPU and sends the counts. The
// handler for unloaded modules does not read counts, because CUPTI crashes there.
extern const EventHandlers kCounting;

// Returns whether this recording counts instructions and nothing else.
[[nodiscard]] bool counting();

// Call these before and after each launch, and pass the result of the first call to the second. A context's first
// launch enables counting in that context. CUPTI does not count launches that are made during a read. So a launch waits
// for the end of the read, and a read waits for running kernels.
uint32_t begin_counted_launch(CUcontext context);
void end_counted_launch(uint32_t epoch);

// Call it before code is unloaded, because CUPTI discards the counts of unloaded code. Waits for the GPU. A null
// `context` means all contexts.
void read_counts_now(CUcontext context);

}  // namespace gpuprof::injection::cupti
