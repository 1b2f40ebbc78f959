// The connection of this process with the recorder, from its start over forks to its end.
#pragma once

#include <cstdint>

namespace gpuprof::injection {

// Connects to the recorder (GPUPROF_SOCKET, GPUPROF_TOKEN, GPUPROF_UID) and maps the segment. False: profiling stays
// off. Installs the fork handler: in a forked child the connection is made anew at the first launch there.
bool start(const char* backend);

// The same in a process that was not started by the recorder: where it listens and as whom, instead of the
// environment.
bool start_attached(const char* backend, const char* socket, const char* token, uint32_t user);

// Whether to record now: connected, enabled by the recorder, and not switched off by disable().
[[nodiscard]] bool active();

[[nodiscard]] uint32_t source();

// Profiling off for good in this process, with the reason for the profile.
void disable(const char* reason);

// The recorder has not looked at the segment for ten seconds: it was killed, or stopped. Nobody reads what would be
// recorded, so a library stops causing costs, and looks again now and then.
[[nodiscard]] bool recorder_silent();

// active(), and the recorder is not silent: for interfaces without a flusher. Asks once in 64 calls of a thread.
[[nodiscard]] bool recording();

// The recorder asks for a flush (GPUPROF_CONTROL_FLUSH) and it has not been served.
[[nodiscard]] bool flush_requested();
void flush_served();

// At the orderly end of the process. May wait up to 100 ms for the recorder to read what ends with the process.
void finish();

// After finish() or disable(), in a process that goes on: gives the shared memory back.
void leave_segment();

// Called in the child after fork(), once state has been reset; null for none.
void on_fork_child(void (*callback)());

}  // namespace gpuprof::injection
