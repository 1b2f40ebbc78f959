// The thread that gets records out of CUPTI in time, and the bounded wait for it when the process ends.
#pragma once

namespace gpuprof::injection::cupti {

// GPUPROF_CUPTI_FLUSH_MS sets the pace, 200 ms where it is not set. False: no thread could be made.
bool start_flusher();

// Gets everything out that CUPTI still holds. Waits for it for no more than about two seconds.
void finish_flusher();

}  // namespace gpuprof::injection::cupti
