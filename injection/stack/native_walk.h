// Walks the native frames of the calling thread by .eh_frame, and by frame pointers in code without it (JIT).
#pragma once

#include <cstdint>

#include "stack/thread_stack.h"
#include "wire/stack.h"

namespace gpuprof::injection {

// A frame: the registers with which a walk continues at it, and where the walk found the caller's.
struct NativeFrame {
  // Address of the frame. It has GPUPROF_WORD_EXACT if a signal interrupted the function, because it is then not a
  // return address.
  uint64_t word;
  uint64_t sp;  // begin of the stack frame, which ends at the sp of its caller
  uint64_t fp;
  // Low 48 bits: stack address at which the caller's fp is saved (0: it is still in the register). Above: index of the
  // module that has the rule, and flags.
  uint64_t place;

  static constexpr uint64_t kPlain = uint64_t{1} << 63;  // the end of the frame depends only on sp or fp
  static constexpr uint64_t kByFp = uint64_t{1} << 62;   // it depends on fp
  // The caller's fp is still in its register; the low bits are the address of the return address. Only on processors
  // with a link register. With one, a saved fp is below the return address.
  static constexpr uint64_t kFpNotSaved = uint64_t{1} << 61;
};

// The stack of the last walk, outermost frame first, so that the next walk can keep the outer frames in place.
struct NativeStack {
  uint32_t count;  // number of frames
  // Number of outermost frames that are on the thread's own stack and depend only on sp and fp. A later walk may reach
  // one of these frames with equal pc, sp and fp. Then its callers are the same if the modules and the words read
  // (return addresses, saved fps) are unchanged.
  uint32_t reusable;
  uint32_t verified;  // value of WalkMemory::walks when the modules of the reusable frames were verified
  uint32_t zero_end;  // 1: the walk ended at the zero that is stored as the caller of frames[1]
  NativeFrame frames[GPUPROF_STACK_MAX_WORDS + 1];  // frames[0] is not a frame; its sp is the end of frames[1]
};

// A rule that a walk has found. It is valid while WalkMemory::walks has the value `found_in`.
struct NearRule {
  uint64_t at;
  uint64_t rule;
  uint32_t module;
  uint32_t found_in;
};

// Memory of a walk, too large for the caller's stack. Only one walk at a time may use it. Initially zero.
struct WalkMemory {
  static constexpr uint32_t kMaxModules = 4096;
  static constexpr uint64_t kWindowBytes = 4096;

  // Start address of the memory that was copied to `window`. It is not on the thread's own stack.
  uint64_t window_begin;
  char window[kWindowBytes];
  uint64_t loads;                 // value of loads_so_far() at the last walk
  uint32_t walks;                 // number of walks, without those between which the loader has changed nothing
  uint32_t seen_in[kMaxModules];  // for each module, the value of `walks` when it was last verified
  NearRule near[256];             // by address, for the fast path; the cache for all threads is larger and slower
  NativeStack stack;
  NativeFrame fresh[GPUPROF_STACK_MAX_WORDS];  // frames of the current walk that are not in `stack`, innermost first
};

struct NativeWalk {
  uint32_t capacity;  // maximum number of frames, at most GPUPROF_STACK_MAX_WORDS
  uint32_t count;
  uint32_t common;     // number of outermost frames that have not changed since the last walk with `memory`
  WalkMemory* memory;  // memory->stack receives the frames
  StackRange own;      // bounds of the thread's own stack, from own_stack()
  uint32_t ascending;  // 1: each frame is at a higher address than those that it called
  uint32_t truncated;  // 1: the walk did not reach the thread's outermost frame
  uint32_t in_signal;  // 1: a signal handler is on the stack; the signal may have interrupted a change of data
};

// Walks from the caller of this function. Fills in all but `capacity`, `memory` and `own`.
extern "C" void gpuprof_walk_native(NativeWalk* walk);  // walk_start_x86_64.S
inline __attribute__((always_inline)) void walk_native(NativeWalk* walk) {
  gpuprof_walk_native(walk);
}

// Walks from the code that a signal has interrupted. `context` is the third argument of the signal handler.
void walk_interrupted(NativeWalk* walk, const void* context);
// Returns the value of sp in that code.
uint64_t interrupted_sp(const void* context);

// Resets module data in a forked child, because at the fork another thread may have been changing it.
void reset_native_walk();

}  // namespace gpuprof::injection
