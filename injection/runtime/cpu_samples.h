// Samples of what the process's threads compute (GPUPROF_OPTION_CPU). Each thread has a timer of its own CPU time,
// whose signal makes the thread record its stack. So a thread that waits is never woken, and no system call is
// interrupted.
#pragma once

namespace gpuprof::injection {

// Starts a thread that finds the process's threads and starts their timers. Does nothing without GPUPROF_OPTION_CPU.
// Call it once for each connection.
void start_cpu_samples();

// Prepares for a new connection in a forked child.
void reset_cpu_samples();

// Stops all timers. Returns at once.
void stop_cpu_samples();

}  // namespace gpuprof::injection
