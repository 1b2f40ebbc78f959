// The thread that gets records out of the vendor's library in time, follows the recorder's wishes, and the bounded wait
// for it when the process ends.
#pragma once

#include <cstdint>

#include "base/atomics.h"
#include "runtime/vendor.h"

namespace gpuprof::injection {

constexpr char kFlusherName[] = "gpuprof-flush";  // of the thread

// By launches and other calls that have the vendor's library record something; read and cleared by the thread.
inline constinit uint32_t work_noted = 0;

inline void note_work() {
  if (load_relaxed(&work_noted) == 0) {  // hardly ever: the line stays in the caches of all threads
    store_relaxed(&work_noted, 1U);
  }
}

// The pace is 200 ms where the vendor's variable does not say otherwise. False: no thread could be made.
bool start_flusher(const Vendor& vendor);

// The same in the calling thread of an attached process, until the recorder takes us out of it or has been gone for ten
// seconds. The vendor has been told to leave the process then, and the connection is closed.
void flush_until_retracted(const Vendor& vendor);

// A detached thread that takes none of the target's signals.
bool start_thread(void* (*run)(void*));

// Gets everything out that the vendor's library still holds. Waits for it for no more than about two seconds.
void finish_flusher();

}  // namespace gpuprof::injection
