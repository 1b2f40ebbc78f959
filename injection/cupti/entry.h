// One recording at a time: what the two ways into a process (entry.cpp, attach.cpp) have in common.
#pragma once

namespace gpuprof::injection::cupti {

// False: it is taken, or CUPTI has not left the process yet.
bool take_session();
void leave_session();

// Once connected: finds CUPTI and subscribes. False: profiling was switched off, with the reason told.
bool begin_recording();

}  // namespace gpuprof::injection::cupti
