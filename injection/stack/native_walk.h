// The native frames of the calling thread by .eh_frame, and by frame pointers where there is none (compiled at run
// time).
#pragma once

#include <cstdint>

#include "stack/thread_stack.h"
#include "wire/stack.h"

namespace gpuprof::injection {

struct NativeFrame {
  uint64_t word;  // address, with GPUPROF_WORD_EXACT where it is no return address but should be
  uint64_t cfa;   // where its stack frame ends: it reaches from the cfa of the frame before up to here
};

// A frame as a walk came by: everything that it goes on from, and what it read.
struct KeptFrame {
  uint64_t pc;
  uint64_t sp;
  uint64_t fp;
  uint64_t place;  // where the caller's fp lies (0: still in its register), and above its bits the module of the rule
};

// A stack as it was at the last walk. From `first` on its frames were on the thread's own stack and followed from sp
// and fp alone: a later walk that comes to one of them with equal pc, sp and fp would go on as this one did while the
// words that were read, return addresses and fps, are what they were, and the modules are.
struct KeptStack {
  uint32_t first;
  uint32_t count;  // 0: cannot be used again
  KeptFrame frames[GPUPROF_STACK_MAX_WORDS + 1];
};

// What one walk at a time needs beside its frames, too much for the caller's stack. All zero at first.
struct WalkMemory {
  static constexpr uint32_t kMaxModules = 4096;
  static constexpr uint64_t kWindowBytes = 4096;

  uint64_t window_begin;          // what was read last from a stack that is not the thread's own
  char window[kWindowBytes];      //
  uint32_t walks;                 // made with this memory
  uint32_t seen_in[kMaxModules];  // the walk in which a module was last found to be what it was
  KeptStack kept[2];              // of the last walk and of this one

  KeptStack& current() { return kept[walks % 2]; }
  KeptStack& last() { return kept[(walks + 1) % 2]; }
};

struct NativeWalk {
  NativeFrame* frames;  // `capacity` of them, GPUPROF_STACK_MAX_WORDS at most; innermost first
  uint32_t capacity;
  uint32_t count;
  WalkMemory* memory;
  StackRange own;      // see own_stack()
  uint64_t sp;         // at the innermost frame
  uint32_t truncated;  // 1: did not reach the frame in which the thread began
  uint32_t in_signal;  // 1: a signal handler is on the stack, so whatever it interrupted may be half done
};

// Begins at the caller of this function. Fills in all but the frames, their capacity, the memory and `own`.
void walk_native(NativeWalk* walk);

// A forked child: another thread may have been in the middle of a change.
void reset_native_walk();

}  // namespace gpuprof::injection
