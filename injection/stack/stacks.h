// Takes the stack of the calling thread, native and Python frames together, and interns it (GPUPROF_OPTION_STACKS).
// Reads this process's own memory only, and never what may not be there. Safe in signal handlers, on any stack.
#pragma once

#include <cstdint>

#include "base/thread_state.h"
#include "wire/wire.h"

namespace gpuprof::injection {

// The id of this thread's stack; a STACK record goes to the recorder before its first use. 0: it could not be taken
// or handed over, which the caller counts. `python`: this thread's PyThreadState; null for none.
uint64_t take_stack(gpuprof_segment* segment, ThreadState& thread, const void* python);

// A new connection: the recorder knows no stacks yet.
void forget_stacks();

// The same in a forked child, where walks of the parent's other threads will never end.
void reset_stacks();

}  // namespace gpuprof::injection
