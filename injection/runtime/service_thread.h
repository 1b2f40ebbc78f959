// The service thread: a library thread in the target that makes the vendor's library deliver records in time, and obeys
// the recorder's control bits. The end of the process waits for it, with a limit.
#pragma once

#include <cstdint>

#include "base/atomics.h"
#include "runtime/vendor.h"

namespace gpuprof::injection {

constexpr char kServiceThreadName[] = "gpuprof-flush";  // shown by top and gdb as a thread of the target
constexpr uint64_t kExitWaitNs = 2000000000;            // longest wait in finish_service_thread()

// 1: there is something to record. Set by launches and other calls, read and cleared by the service thread.
inline constinit uint32_t work_noted = 0;

inline void note_work() {
  if (load_relaxed(&work_noted) == 0) {  // rarely stores, so the cache line stays shared by all threads
    store_relaxed(&work_noted, 1U);
  }
}

// Starts the thread; false on failure. It flushes every 200 ms unless the vendor's variable sets another interval.
bool start_service_thread(const Vendor& vendor);

// Serves an attached process in the calling thread until the recorder detaches or is gone (GPUPROF_RECORDER_GONE_NS).
// On return, the vendor is detached and the connection closed.
void serve_until_retracted(const Vendor& vendor);

// Starts a detached thread that blocks all signals.
bool start_thread(void* (*run)(void*));

// Flushes all records of the vendor's library. Waits at most about 2 s.
void finish_service_thread();

}  // namespace gpuprof::injection
