// Finds the bounds of the thread's own stack, which is mapped as long as the thread lives and can be read directly.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/thread_state.h"

namespace gpuprof::injection {

// [low, high); empty if unknown.
struct StackRange {
  uint64_t low;
  uint64_t high;
};

inline bool within(const StackRange& range, uint64_t address) {
  return address >= range.low && address < range.high;
}

// Returns the bounds. `sp` is the caller's; it may be on another stack (fiber, signal handler). Sometimes reads the
// process's maps into `buffer`, which has `bytes` bytes.
StackRange own_stack(ThreadState& thread, uint64_t sp, char* buffer, size_t bytes);

// Finds where the main thread's stack ends. Call it once per process, not at a launch.
void find_main_stack();

}  // namespace gpuprof::injection
