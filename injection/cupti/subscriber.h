// Our place as CUPTI's one subscriber: launch callbacks and activity kinds.
#pragma once

#include <cstddef>

namespace gpuprof::injection::cupti {

// Subscribes and starts recording. False: profiling was switched off, with the reason told.
bool subscribe();

// Switches the activity kinds and launch callbacks; what is not recorded costs the target nothing. From one thread.
void set_recording(bool on);

}  // namespace gpuprof::injection::cupti
