// Subscribes to CUPTI's callbacks and activity kinds. CUPTI allows one subscriber per process.
#pragma once

#include "cupti/api/cupti_abi.h"

namespace gpuprof::injection::cupti {

// Subscribes and starts recording. On failure, disables profiling with a reason for the profile, and returns false.
// Call it inside cuInit, or on a library thread of a running process. It can be called again after finalized() returns
// true.
bool subscribe();

// Enables or disables CUPTI's callback for an event of the resource domain (event_handlers.h). Returns false if CUPTI
// does not have the event.
bool enable_resource(CUpti_CallbackIdResource event, bool on);

// Switches recording on or off. Off costs the target nothing: once complete_pause() has returned true, CUPTI is
// detached, unless the process uses graphs. Returns whether recording is on: before the first CUDA context, windows do
// not switch it on; call again. Call these functions from one thread only.
bool set_recording(bool on);

// Call it after set_recording(false) every few milliseconds until it returns true. It waits for records of kernels that
// were launched before.
bool complete_pause();

// Begins to detach CUPTI: stops recording and flushes, which may take long. `last`: also delivers unfinished work. This
// thread's next driver call then detaches CUPTI, which is possible only in the callback at the end of a call. Call it
// only from the thread that calls set_recording().
void request_finalize(bool last);

// Makes a driver call, or waits for one of the target, which it then delays. Returns whether CUPTI is detached.
bool finish_finalize();

// True from request_finalize() until CUPTI is detached.
[[nodiscard]] bool finalizing();

[[nodiscard]] bool finalized();

// Detaches CUPTI at the first call. Call it at the end of driver calls while finalizing().
void finalize_here();

}  // namespace gpuprof::injection::cupti
