// The service thread: a thread of ours in the target. It has the vendor's library hand over its records in time, and
// does what the recorder's control bits say. The end of the process waits for it, within bounds.
#pragma once

#include <cstdint>

#include "base/atomics.h"
#include "runtime/vendor.h"

namespace gpuprof::injection {

constexpr char kServiceThreadName[] = "gpuprof-flush";  // as the target's users see it
constexpr uint64_t kExitWaitNs = 2000000000;            // how long finish_service_thread() waits at most

// Set by launches and other calls that have the vendor's library record something; read and cleared by the service
// thread.
inline constinit uint32_t work_noted = 0;

inline void note_work() {
  if (load_relaxed(&work_noted) == 0) {  // hardly ever: the line stays in the caches of all threads
    store_relaxed(&work_noted, 1U);
  }
}

// The pace is 200 ms where the vendor's variable does not say otherwise. False: no thread could be made.
bool start_service_thread(const Vendor& vendor);

// The service thread's work in the calling thread, for an attached process: until the recorder has us leave it, or is
// gone (GPUPROF_RECORDER_GONE_NS). By the return, the vendor has been told to leave and the connection is closed.
void serve_until_retracted(const Vendor& vendor);

// A detached thread that takes none of the target's signals.
bool start_thread(void* (*run)(void*));

// Gets everything out that the vendor's library still holds. Waits for it for no more than about two seconds.
void finish_service_thread();

}  // namespace gpuprof::injection
