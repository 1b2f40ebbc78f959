// Follows an enqueued command until the driver reports its completion, and emits its record.
#pragma once

#include <cstdint>

#include "opencl/dispatch.h"
#include "wire/wire.h"

namespace gpuprof::injection::opencl {

// An enqueued command. The completion callback frees it.
struct Pending {
  uint64_t correlation;
  uint64_t bytes;
  uint64_t stream;  // Queue::number; 0: an unknown queue
  uint32_t name;
  uint32_t device;
  gpuprof_op op;
  bool timed;  // the overhead of its launch is measured
  // Times of the driver's call, set only if the call is reported or blocks:
  uint64_t start_ns;  // 0: not measured
  uint64_t wait;      // result of stack_of_host_call(); 0 if the driver's call does not block
  // Ends when a command buffer may begin to run. Null if the driver measures its commands, and for other commands.
  cl_event before;
};

// Frees a command that is not watched.
void discard(Pending* pending);

// Requests a callback for the command's completion. Takes ownership of `pending` and of one reference to the event.
void watch(cl_event event, Pending* pending);

// Waits up to 0.5 s for unfinished commands when the process ends. Only the first call waits: later, objects of the
// driver that the commands need may be destroyed.
void wait_for_outstanding();

// Counts unfinished commands as lost.
void count_unfinished();

// Forgets the parent's commands in a forked child, because they never complete there.
void forget_outstanding();

}  // namespace gpuprof::injection::opencl
