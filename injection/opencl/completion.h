// Follows an enqueued command until the driver reports its completion, and emits its record.
#pragma once

#include <cstdint>

#include "opencl/dispatch.h"
#include "wire/wire.h"

namespace gpuprof::injection::opencl {

// A command that was enqueued. Freed by the completion callback.
struct Pending {
  uint64_t correlation;
  uint64_t bytes;
  uint64_t stream;
  uint32_t name;
  uint32_t device;
  gpuprof_op op;
  bool timed;  // the cost of its launch is measured
  // Times of the driver's call, set only if the call is reported or blocks:
  uint64_t start_ns;  // 0: not measured
  uint64_t wait;      // result of stack_of_host_call(); 0: the call does not block
  cl_event before;    // ends when a command buffer may begin; null for other commands
};

// Frees a command that is not watched.
void discard(Pending* pending);

// Requests a callback at completion. Takes ownership of `pending` and of one reference to the event.
void watch(cl_event event, Pending* pending);

// Waits at exit: 0.2 s, longer while commands complete, at most 1 s. Counts the rest as lost.
void wait_for_outstanding();

// Forgets the parent's commands in a forked child, where they never complete.
void forget_outstanding();

}  // namespace gpuprof::injection::opencl
