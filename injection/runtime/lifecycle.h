// Manages the connection of this process with the recorder: start, forks, end.
#pragma once

#include <cstdint>

#include "ipc/connect.h"

namespace gpuprof::injection {

// Connects to the recorder (GPUPROF_SOCKET, GPUPROF_TOKEN, GPUPROF_UID) and maps the segment. A forked child connects
// again at its first launch. Returns false if profiling stays off.
bool start(const char* backend);

// Connects in a process that was already running (record -p). Its environment does not contain the recorder's address.
bool start_attached(const char* backend, const char* socket, const char* token, uint32_t user);

// Returns whether this process is to record now. It is if it is connected, the recorder has enabled recording, and
// disable() was not called.
[[nodiscard]] bool active();

[[nodiscard]] uint32_t source();

// Returns the recorder's address, for data that is sent outside the rings.
[[nodiscard]] Address recorder_address();

// Disables profiling in this process forever. The recorder writes the reason into the profile.
void disable(const char* reason);

// Returns whether the last heartbeat is older than GPUPROF_RECORDER_GONE_NS, because the recorder was killed or
// stopped. The vendor's code in this library then stops recording and checks again periodically.
[[nodiscard]] bool recorder_silent();

// Returns active() && !recorder_silent(). Checks recorder_silent() only in 1 of 64 calls per thread. For interfaces
// without a service thread.
[[nodiscard]] bool recording();

// Returns true from a flush request (GPUPROF_CONTROL_FLUSH) until flush_served() is called.
[[nodiscard]] bool flush_requested();
void flush_served();

// Closes the connection when the process ends normally. May wait some heartbeats for the recorder to read everything.
void finish();

// Returns whether finish() has ended this process's recording at its exit. Exit handlers may still launch work.
[[nodiscard]] bool ended();

// Counts such work as lost.
void lost_after_end(uint64_t work);

// Reports the normal end as finish() does, but goes on recording, because exit handlers may still launch work. May be
// called again.
void finish_so_far();

// Frees the shared memory after finish() or disable(), if the process continues.
void leave_segment();

// Sets a function that runs in the child after fork(), when the state has been reset. Null removes it.
void on_fork_child(void (*callback)());

}  // namespace gpuprof::injection
