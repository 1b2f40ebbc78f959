// Takes and interns the calling thread's stack, native and Python frames (GPUPROF_OPTION_STACKS). Reads only this
// process's memory, and never faults. Safe in signal handlers and on any stack.
#pragma once

#include <cstdint>

#include "base/thread_state.h"
#include "wire/wire.h"

namespace gpuprof::injection {

// Returns the stack's id, and sends a STACK record before the first use of the id. Returns 0 if the stack was not taken
// or not sent; the caller counts the loss. `python` is this thread's PyThreadState, or null.
uint64_t take_stack(gpuprof_segment* segment, ThreadState& thread, const void* python);

// Takes the stack of the code that a signal has interrupted. `context` is the third argument of the signal handler,
// and `thread` a state with ThreadState::in_handler. Takes no lock and allocates no memory.
uint64_t take_interrupted_stack(gpuprof_segment* segment, ThreadState& thread, const void* python, const void* context);

// Prepares for a new connection, whose recorder has received no stacks.
void forget_stacks();

// Prepares for a new connection in a forked child, where unfinished walks of the parent's other threads never end.
void reset_stacks();

}  // namespace gpuprof::injection
