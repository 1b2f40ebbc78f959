// Our place as CUPTI's one subscriber: callbacks and activity kinds.
#pragma once

#include "cupti/api/cupti_abi.h"

namespace gpuprof::injection::cupti {

// Subscribes and starts recording. False: profiling was switched off, with the reason told. Inside cuInit, or from a
// thread of ours in a process that has long been running; also again after finalized().
bool subscribe();

// Switches CUPTI's callback for an event of contexts, modules or graph nodes: event_handlers.h. False: CUPTI does not
// have it.
bool enable_resource(CUpti_CallbackIdResource event, bool on);

// Switches the activity kinds and callbacks; what is not recorded costs the target nothing. From one thread.
void set_recording(bool on);

// CUPTI is to leave the process: nothing is recorded any more, and what it holds is handed over (this may take as long
// as a flush). The next call into the driver that ends on the same thread then has CUPTI detach, once, as CUPTI wants
// it: inside that call's callback. From one thread, the one that calls set_recording().
void request_finalize();

// Any thread's next call will do. The program's thread is then held up while CUPTI leaves.
void let_all_finalize();

// Between request_finalize() and the end.
[[nodiscard]] bool finalizing();

// CUPTI is gone.
[[nodiscard]] bool finalized();

// To be called at the end of a call while finalizing(); does nothing but the first time.
void finalize_here();

}  // namespace gpuprof::injection::cupti
