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

// Enables or disables activity kinds and callbacks; when off, the target pays no overhead. Call from one thread only.
void set_recording(bool on);

// Begins to detach CUPTI: stops recording and flushes, which may take long. This thread's next driver call then
// detaches CUPTI, which is possible only in the callback at the end of a call. Call it only from the thread that calls
// set_recording().
void request_finalize();

// Lets the next driver call of any thread detach CUPTI, which delays that thread of the program.
void let_all_finalize();

// True from request_finalize() until CUPTI is detached.
[[nodiscard]] bool finalizing();

[[nodiscard]] bool finalized();

// Detaches CUPTI at the first call. Call it at the end of driver calls while finalizing().
void finalize_here();

}  // namespace gpuprof::injection::cupti
