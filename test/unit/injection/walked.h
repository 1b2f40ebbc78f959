// Walks a stack with gpuprof's walk and with libgcc's unwinder, for comparison.
#pragma once

#include <unwind.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/thread_state.h"
#include "stack/native_walk.h"
#include "stack/thread_stack.h"

namespace gpuprof::test {

// Reserves memory for all frames in advance, as a signal handler must not allocate.
struct Walked {
  Walked() {
    words.reserve(GPUPROF_STACK_MAX_WORDS);
    ends.reserve(GPUPROF_STACK_MAX_WORDS);
  }
  std::vector<uint64_t> words;
  std::vector<uint64_t> ends;  // CFA of each frame
  uint64_t sp = 0;
  uint32_t common = 0;  // number of outermost frames that were kept from the last walk
  bool truncated = false;
  bool in_signal = false;
};

struct WalkScratch {
  std::unique_ptr<injection::WalkMemory> memory = std::make_unique<injection::WalkMemory>();
};

inline void fill(const injection::NativeWalk& walk, Walked* walked) {
  const injection::NativeFrame* frames = walk.memory->stack.frames;
  walked->sp = frames[walk.count].sp;
  walked->common = walk.common;
  walked->truncated = walk.truncated != 0;
  walked->in_signal = walk.in_signal != 0;
  walked->words.clear();
  walked->ends.clear();
  for (uint32_t i = walk.count; i > 0; --i) {
    walked->words.push_back(frames[i].word);
    walked->ends.push_back(frames[i - 1].sp);
  }
}

// This function and those below are always inlined, so that the innermost frame is the caller's.
inline __attribute__((always_inline)) void walk_here(WalkScratch& scratch, Walked* walked) {
  injection::NativeWalk walk = {};
  walk.capacity = GPUPROF_STACK_MAX_WORDS;
  walk.memory = scratch.memory.get();
  walk.own = injection::own_stack(injection::thread_state(), reinterpret_cast<uint64_t>(__builtin_frame_address(0)),
                                  scratch.memory->window, sizeof(scratch.memory->window));
  injection::walk_native(&walk);
  fill(walk, walked);
}

inline _Unwind_Reason_Code note_frame(_Unwind_Context* context, void* words) {
  int exact = 0;
  auto* to = static_cast<std::vector<uint64_t>*>(words);
  const uint64_t pc = _Unwind_GetIPInfo(context, &exact);
  if (pc != 0 && to->size() < to->capacity()) {
    to->push_back(pc | (exact != 0 ? GPUPROF_WORD_EXACT : 0));
  }
  return _URC_NO_REASON;
}

inline __attribute__((always_inline)) void reference_here(std::vector<uint64_t>* words) {
  words->clear();
  _Unwind_Backtrace(note_frame, words);
}

struct Compared {
  Compared() { reference.reserve(2 * GPUPROF_STACK_MAX_WORDS); }
  Walked ours;
  std::vector<uint64_t> reference;
  // Compares all frames but the innermost, where the two calls have different addresses.
  [[nodiscard]] bool same() const {
    return !ours.truncated && ours.words.size() == reference.size() && !reference.empty() &&
           std::equal(ours.words.begin() + 1, ours.words.end(), reference.begin() + 1);
  }
};

inline __attribute__((always_inline)) void compare_here(WalkScratch& scratch, Compared* compared) {
  walk_here(scratch, &compared->ours);
  reference_here(&compared->reference);
}

}  // namespace gpuprof::test
