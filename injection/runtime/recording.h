// Begins and ends the recording of a process, for all vendors: by start, or by attaching.
#pragma once

#include <cstdint>

#include "base/atomics.h"
#include "runtime/vendor.h"

namespace gpuprof::injection {

inline constinit uint32_t forked = 0;  // atomic

// Returns whether this process was forked by a process with a recording.
[[nodiscard]] inline bool in_fork() {
  return load_relaxed(&forked) != 0;
}

// Begins a recording in a process that the recorder has started. Returns false if a recording exists already or cannot
// be made; profiling is then off. `vendor` must have static lifetime.
bool begin_recording(const Vendor& vendor);

// An exit handler may wait this long for unfinished work: long enough for a small kernel that a driver must still
// compile, and hardly longer than a program takes to load OpenCL.
inline constexpr uint64_t kExitWaitForWorkNs = 500'000'000;

// Says in the profile that the exit handler has waited for unfinished work, if it has waited for long.
void note_exit_wait(uint64_t waited_ns);

// Make the exit handler run also before handlers and destructors that were registered since begin_recording(): those
// registered until now; and all, if the main thread ends the process and calls exit_first_on_main_thread() before. Only
// for a vendor without a Flush, whose exit handler may run several times.
void move_exit_handler();
void exit_first_on_main_thread();

// Attaches to a running process (`record -p`). Starts a thread that connects to the recorder (running as `user`),
// subscribes the vendor, and runs until the recorder detaches or is gone. Returns at once: 0, EBUSY (a recording exists
// already) or ECHILD (in_fork()). The vendor must have a Flush.
int attach(const Vendor& vendor, const char* socket, const char* token, unsigned user);

}  // namespace gpuprof::injection
