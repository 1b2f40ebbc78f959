// A launch, from the vendor's callback that tells of it, on the launching thread.
#pragma once

#include <cstdint>

// The stack source hooks here: BPF attaches a uprobe to its first instruction, a 5-byte nop. It does nothing.
// Called on the launching thread, before the launch goes to the driver.
// `range` is the id of the RANGE that the thread is in, 0 for none; `python` its PyThreadState, null for none.
extern "C" void gpuprof_launch_probe(uint64_t correlation, uint32_t source, uint32_t range, const void* python);

namespace gpuprof::injection {

// A launch on this thread: counts it and calls the probe, and emits a LAUNCH record where the recorder asks for one.
// While the recorder wants stacks for a share of the launches only, or for those in one NVTX range, others are
// remembered in a table (launch_notes.h) for their GPU work. `several`: more than one GPU_OP will have this id.
// `name`: id of the kernel's name, 0 for none; see launch_name().
void launch(uint64_t correlation, bool several = false, uint32_t name = 0);

// What a launch was given as its kernel's name; 0: none, or it was too long ago (launch_notes.h).
uint32_t launch_name(uint64_t correlation);

// The launch, the last one of this thread, became a node of a graph, or failed: it will have no GPU work.
void launch_captured(uint64_t correlation);
void launch_failed(uint64_t correlation);

// The stack of a call that is no launch: `correlation` has GPUPROF_CORRELATION_HOST or GPUPROF_CORRELATION_NODE.
void stack_here(uint64_t correlation);

// The same for a call of a vendor's interface that has no ids: one with GPUPROF_CORRELATION_HOST is made, and returned.
uint64_t stack_of_host_call();

// One launch in 64 is timed: launch() times itself, and a library adds what it does around that. Ask before launch()
// whether the next one on this thread is timed, and if so add the time spent outside of launch(). A time longer than
// 100 us counts as 100 us: the thread was off the CPU meanwhile, and one such time would hide all others.
[[nodiscard]] bool next_launch_timed();
void add_overhead(uint64_t ns);

// A unique correlation id, for vendor interfaces that have none.
uint64_t next_correlation();

}  // namespace gpuprof::injection
