// What we keep per thread. Plain data in the general TLS model: the faster initial-exec model could
// make the load of the library fail in a process that has used up its static TLS.
#pragma once

#include <cstdint>

namespace gpuprof::injection {

struct ThreadState {
  uint32_t ring_plus_one;  // 0: no ring chosen yet
  uint32_t tid;            // 0: not asked for yet
  uint32_t launches;       // on this thread; decides which launches are timed
  uint32_t in_guard;       // Guard is held
  uint32_t in_write;       // inside the ring or name code: the segment must stay mapped
  uint32_t random;         // state of the generator that chooses launches; 0: not seeded yet
  uint64_t last_launch;    // the launch that was counted last, plus one; 0: none, or the last one was left out
  char name[16];           // for LAUNCH records, refreshed now and then
  uint64_t stack_low;      // this thread's own stack, see thread_stack.h
  uint64_t stack_high;     // 0: not known
  uint32_t stack_looks;
  uint32_t stack_pause;
  uint32_t holds_looks;  // between hold_off_looks() and allow_looks()
  uint32_t in_look;
};

ThreadState& thread_state();

}  // namespace gpuprof::injection
