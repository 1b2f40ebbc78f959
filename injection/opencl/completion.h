// From a command that has been enqueued to its record, once the driver says that it has completed.
#pragma once

#include <cstdint>

#include "opencl/dispatch.h"
#include "wire/wire.h"

namespace gpuprof::injection::opencl {

// A command on its way. Memory of ours until the completion callback has run.
struct Pending {
  uint64_t correlation;
  uint64_t bytes;
  uint64_t stream;
  uint32_t name;
  uint32_t device;
  gpuprof_op op;
  bool timed;  // its cost on the launching thread is measured
  // Of the driver's call; only where it is told of or waits:
  uint64_t start_ns;  // else 0
  uint64_t wait;      // of stack_of_host_call(); 0: the call does not block
};

// Asks the driver to call us when `event` completes. Takes over `pending` and one reference to the event.
void watch(cl_event event, Pending* pending);

// At exit: gives commands that are still running a moment, 0.2 s, and as long as some complete, but one second at most;
// the rest is counted.
void wait_for_outstanding();

// In a forked child, where the commands of the parent never complete.
void forget_outstanding();

}  // namespace gpuprof::injection::opencl
