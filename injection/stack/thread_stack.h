// Where the calling thread's own stack lies: memory that is there as long as the thread, and so may be read directly.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/thread_state.h"

namespace gpuprof::injection {

// [low, high); empty where nothing is known.
struct StackRange {
  uint64_t low;
  uint64_t high;
};

inline bool within(const StackRange& range, uint64_t address) {
  return address >= range.low && address < range.high;
}

// `sp`: of the caller; it may lie on another stack (of a fiber, a signal handler, ...). Now and then reads
// /proc/self/maps, into `buffer` of `bytes`.
StackRange own_stack(ThreadState& thread, uint64_t sp, char* buffer, size_t bytes);

// Once in a process, off the launch path: where the stack of the main thread ends.
void find_main_stack();

}  // namespace gpuprof::injection
