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
  uint32_t holds_module_scans;  // while it forks
  uint32_t in_module_scan;
};

// constinit keeps the compiler from a guard at each access.
inline constinit thread_local ThreadState current_thread = {};

inline ThreadState& thread_state() {
  return current_thread;
}

// Its id and its name, anew.
void read_thread(ThreadState& thread);

// Of this thread, as the target's pid namespace has it.
[[nodiscard]] uint32_t thread_id();

// In the child of a fork: what is known of the parent's thread does not hold here. A signal handler may fork in the
// middle of what we do; that goes on.
void reset_thread(ThreadState& thread);

}  // namespace gpuprof::injection
