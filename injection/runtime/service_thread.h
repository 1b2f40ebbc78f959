// The service thread is a library thread in the target. It makes the vendor's library deliver records in time, and
// obeys the recorder's control bits. When the process ends, it waits for this thread, for a limited time.
#pragma once

#include <cstdint>

#include "base/atomics.h"
#include "runtime/vendor.h"

namespace gpuprof::injection {

constexpr char kServiceThreadName[] = "gpuprof-flush";  // top and gdb show this name as a thread of the target
constexpr uint64_t kExitWaitNs = 2000000000;

// 1: there is something to record. Launches and other calls set it; the service thread reads and clears it.
inline constinit uint32_t work_noted = 0;

inline void note_work() {
  if (load_relaxed(&work_noted) == 0) {  // stores only if needed, so that the cache line stays shared by all threads
    store_relaxed(&work_noted, 1U);
  }
}

// Starts the thread. Returns false on failure. The thread flushes every 200 ms, unless the vendor's environment
// variable sets another interval.
bool start_service_thread(const Vendor& vendor);

// Serves an attached process in the calling thread until the recorder detaches or is gone (GPUPROF_RECORDER_GONE_NS).
// On return, the vendor is detached and the connection closed.
void serve_until_retracted(const Vendor& vendor);

// Starts a detached thread in which all signals are blocked.
bool start_thread(void* (*run)(void*));

// Makes the vendor's library deliver all records. Waits at most about 2 s.
void finish_service_thread();

}  // namespace gpuprof::injection
