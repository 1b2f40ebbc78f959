// Per-thread state of the injection library: plain data in the general TLS model. The faster initial-exec model could
// make loading the library fail in a process whose static TLS is used up.
#pragma once

#include <cstdint>

namespace gpuprof::injection {

struct ThreadState {
  uint32_t ring_plus_one;
  uint32_t tid;
  uint32_t launches;  // number of launches on this thread; one in 64 of them is timed
  uint32_t in_guard;
  uint32_t in_write;     // Nesting depth of writes to rings or names. While it is not 0, the segment must stay mapped.
  uint64_t last_launch;  // correlation id of the last launch plus one; 0: no launch yet, or the last one was ignored
  uint64_t launched_ns;  // see launched_ns() in runtime/launch.h; 0: no launch yet, or the last one was ignored
  char name[16];         // the thread's name, for LAUNCH records; read again every 1024 launches
  uint64_t stack_low;    // Bounds of this thread's own stack; thread_stack.h finds them.
  uint64_t stack_high;   // 0: the bounds are unknown
  uint32_t stack_reads;
  uint32_t stack_pause;
  uint32_t holds_module_scans;  // 1: this thread has suspended module scans for a fork
  uint32_t in_module_scan;
  // 1: this is not the thread's usual state, but one for a signal handler that may have interrupted the holder of a
  // lock. So it must not wait for a lock.
  uint32_t in_handler;
  // 1: the GPU work that this thread writes is the rest of a launch. It may use the space that is reserved for records
  // that cannot wait, and waits for space also in a backlog.
  uint32_t completes_launch;
  uint32_t in_backlog;     // 1: so much GPU work waits behind this thread's that it may not wait for space in a ring
  const void* outer_call;  // the outermost HostCall that runs; null: none
  uint64_t outer_number;   // its number: see HostCall
};

inline constinit thread_local ThreadState current_thread = {};

inline ThreadState& thread_state() {
  return current_thread;
}

void read_thread(ThreadState& thread);

// Returns the calling thread's id in the target's pid namespace.
[[nodiscard]] uint32_t thread_id();

// Resets the state in a forked child. Keeps the fields that unfinished operations of this thread need, such as
// in_write: a signal handler that interrupted such an operation may have called fork().
void reset_thread(ThreadState& thread);

}  // namespace gpuprof::injection
