// Reports launches. Vendor callbacks call these functions on the launching thread.
#pragma once

#include <cstdint>

// An empty function, which launch() calls on the launching thread before the driver gets the launch. A BPF uprobe at
// its first instruction, a 5-byte nop, takes the stack. `range` is the id of the thread's RANGE; 0: the thread is in no
// range. `python` is the thread's PyThreadState or null.
extern "C" void gpuprof_launch_probe(uint64_t correlation, uint32_t source, uint32_t range, const void* python);

namespace gpuprof::injection {

// Reports a launch on this thread: counts it, calls the probe, and emits a LAUNCH record if requested. If the recorder
// wants stacks of only some launches (a share, or an NVTX range), notes for each launch whether it has a stack
// (launch_notes.h). `several`: the launch causes several GPU_OPs. `name`: id of the kernel's name, or 0.
void launch(uint64_t correlation, bool several = false, uint32_t name = 0);

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

// launch() times one launch in 64. If next_launch_timed() returns true before launch(), a vendor library adds its own
// time around launch() with add_overhead(). Times above 100 us count as 100 us: the thread was descheduled.
[[nodiscard]] bool next_launch_timed();
void add_overhead(uint64_t ns);

// Hides a value from the compiler. If a branch before and one after launch() depended on the same value, the compiler
// could make two calls of launch(). Launches from one place in the program would then have two different stacks.
inline bool opaque(bool value) {
  asm("" : "+r"(value));
  return value;
}

// Adds the CPU time in which a thread of the vendor library handed over records. Call it for each batch.
void add_handover(uint64_t ns);

// Returns a new correlation id, for vendor interfaces that have none.
uint64_t next_correlation();

}  // namespace gpuprof::injection
