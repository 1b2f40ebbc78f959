// The connection of this process with the recorder, from its start over forks to its end.
#pragma once

#include <cstdint>

#include "ipc/connect.h"

namespace gpuprof::injection {

// Connects to the recorder (GPUPROF_SOCKET, GPUPROF_TOKEN, GPUPROF_UID) and maps the segment. False: profiling stays
// off. Installs the fork handler: in a forked child the connection is made anew at the first launch there.
bool start(const char* backend);

// The same in a process that runs already (record -p): the recorder's address comes as arguments, for the environment
// of such a process does not have it.
bool start_attached(const char* backend, const char* socket, const char* token, uint32_t user);

// Whether to record now: connected, enabled by the recorder, and not switched off by disable().
[[nodiscard]] bool active();

[[nodiscard]] uint32_t source();

// Where the recorder of this connection listens: for what goes beside the rings.
[[nodiscard]] Address recorder_address();

// Switches profiling off in this process for good. The reason is written into the profile.
void disable(const char* reason);

// The recorder has had no heartbeat for GPUPROF_RECORDER_GONE_NS: it was killed, or stopped. Nobody reads what would be
// recorded, so a library stops causing costs, and asks again now and then.
[[nodiscard]] bool recorder_silent();

// active(), and the recorder is not silent: for interfaces without a service thread. Asks once in 64 calls of a thread.
[[nodiscard]] bool recording();

// The recorder asks for a flush (GPUPROF_CONTROL_FLUSH) and it has not been served.
[[nodiscard]] bool flush_requested();
void flush_served();

// At the orderly end of the process. May wait a few heartbeats for the recorder to read what ends with the process.
void finish();

// After finish() or disable(), in a process that goes on: gives the shared memory back.
void leave_segment();

// Called in the child after fork(), once state has been reset; null for none.
void on_fork_child(void (*callback)());

}  // namespace gpuprof::injection
