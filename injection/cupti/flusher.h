// The thread that gets records out of CUPTI in time, and the bounded wait for it when the process ends.
#pragma once

namespace gpuprof::injection::cupti {

// GPUPROF_CUPTI_FLUSH_MS sets the pace, 200 ms where it is not set. False: no thread could be made.
bool start_flusher();

// The same in the calling thread of an attached process, until the recorder takes us out of it or has been gone for ten
// seconds. CUPTI has been told to leave the process then, and the connection is closed.
void flush_until_retracted();

// A detached thread that takes none of the target's signals.
bool start_thread(void* (*run)(void*));

// Gets everything out that CUPTI still holds. Waits for it for no more than about two seconds.
void finish_flusher();

}  // namespace gpuprof::injection::cupti
