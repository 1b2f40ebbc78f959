// Walks the native frames of the calling thread by .eh_frame, and by frame pointers in code without it (JIT).
#pragma once

#include <cstdint>

#include "stack/thread_stack.h"
#include "wire/stack.h"

namespace gpuprof::injection {

struct NativeFrame {
  // Address of the frame. It has GPUPROF_WORD_EXACT if a signal interrupted the function, because it is then not a
  // return address.
  uint64_t word;
  uint64_t cfa;  // end of the stack frame, which begins at the cfa of the previous (inner) frame
};

// A frame of an earlier walk: the registers with which the walk continued, and what it read from memory.
struct LastFrame {
  uint64_t pc;
  uint64_t sp;
  uint64_t fp;
  // Low bits: stack address at which the caller's fp is saved (0: it is still in the register). High bits: index of the
  // module that has the rule.
  uint64_t place;
};

// The stack of the last walk. From index `first` on, its frames are on the thread's own stack and depend only on sp and
// fp. A later walk may reach one of these frames with equal pc, sp and fp. Then the remaining frames are the same if
// the modules and the words read (return addresses, saved fps) are unchanged.
struct LastStack {
  uint32_t first;
  uint32_t count;  // number of frames; 0: later walks cannot reuse any of them
  LastFrame frames[GPUPROF_STACK_MAX_WORDS + 1];
};

// Memory of a walk, too large for the caller's stack. Only one walk at a time may use it. Initially zero.
struct WalkMemory {
  static constexpr uint32_t kMaxModules = 4096;
  static constexpr uint64_t kWindowBytes = 4096;

  // Start address of the memory that was copied to `window`. It is not on the thread's own stack.
  uint64_t window_begin;
  char window[kWindowBytes];
  uint32_t walks;                 // number of walks made with this memory
  uint32_t seen_in[kMaxModules];  // for each module, the number of the last walk that has verified it
  LastStack kept[2];

  LastStack& current() { return kept[walks % 2]; }
  LastStack& last() { return kept[(walks + 1) % 2]; }
};

struct NativeWalk {
  NativeFrame* frames;  // array of `capacity` frames (at most GPUPROF_STACK_MAX_WORDS), innermost first
  uint32_t capacity;
  uint32_t count;
  WalkMemory* memory;
  StackRange own;      // bounds of the thread's own stack, from own_stack()
  uint64_t sp;         // value of sp at the innermost frame
  uint32_t truncated;  // 1: the walk did not reach the thread's outermost frame
  uint32_t in_signal;  // 1: a signal handler is on the stack; the signal may have interrupted a change of data
};

// Walks from the caller of this function. Fills in all but `frames`, `capacity`, `memory` and `own`.
void walk_native(NativeWalk* walk);

// Walks from the code that a signal has interrupted. `context` is the third argument of the signal handler.
void walk_interrupted(NativeWalk* walk, const void* context);
// Returns the value of sp in that code.
uint64_t interrupted_sp(const void* context);

// Resets module data in a forked child, because at the fork another thread may have been changing it.
void reset_native_walk();

}  // namespace gpuprof::injection
