// Reports launches. Vendor callbacks call these functions on the launching thread.
#pragma once

#include <cstdint>

// An empty function, which launch() calls on the launching thread before the driver gets the launch. A BPF uprobe at
// its first instruction, a 5-byte nop, takes the stack. `range` is the id of the thread's RANGE; 0: the thread is in no
// range. `python` is the thread's PyThreadState or null.
extern "C" void gpuprof_launch_probe(uint64_t correlation, uint32_t source, uint32_t range, const void* python);

namespace gpuprof::injection {

// Begins to time the thread's next launch, if it is one of those that are timed: one in 64. Returns the time; 0: it is
// not timed. Call it before the vendor's own code for a launch.
[[nodiscard]] uint64_t begin_timing();

// Reports a launch on this thread: counts it, calls the probe, and emits a LAUNCH record if requested. If the recorder
// wants stacks of only some launches (a share, or an NVTX range), notes for each launch whether it has a stack
// (launch_notes.h). `several`: the launch causes several GPU_OPs. `name`: id of the kernel's name, or 0. `begun_ns`:
// result of begin_timing(), from which on the launch is timed; 0: from this call on. Returns whether the launch was
// timed.
bool launch(uint64_t correlation, bool several = false, uint32_t name = 0, uint64_t begun_ns = 0);

// Returns the time in the LAUNCH record of the thread's last launch() or stack_here(). If that launch() sent no record,
// returns the time at which it had done its work. 0: it was ignored, or nothing is recorded.
[[nodiscard]] uint64_t launched_ns();

// Adds time that the vendor's code took for a timed launch after launch(). Times above 100 us count as 100 us, because
// the thread was then descheduled.
void add_overhead(uint64_t ns);

// Returns the `name` that was passed to launch(). Returns 0 if it was 0 or the note was overwritten (launch_notes.h).
uint32_t launch_name(uint64_t correlation);

// Reports that the thread's last launch became a graph node: it has no GPU work.
void launch_captured(uint64_t correlation);

// Takes the stack of a call that is not a launch. `correlation` has the bit GPUPROF_CORRELATION_HOST or _NODE.
void stack_here(uint64_t correlation);

// Takes the stack of a host call, for a vendor interface without ids. Returns a new id with the bit
// GPUPROF_CORRELATION_HOST.
uint64_t stack_of_host_call();

// Returns whether the id is that of the thread's last launch, and launch() did not ignore it.
[[nodiscard]] bool is_last_launch(uint64_t correlation);

// Adds the CPU time in which a thread of the vendor library delivered records. Call it for each batch.
void add_handover(uint64_t ns);

// Returns a new correlation id, for vendor interfaces that have none.
uint64_t next_correlation();

}  // namespace gpuprof::injection
