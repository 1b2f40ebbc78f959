// Numbers command queues, and enables profiling on them. If the user queries a queue, the answer must not show the
// change.
#pragma once

#include <cstdint>

#include "opencl/dispatch.h"

namespace gpuprof::injection::opencl {

enum class Rewrite : uint32_t {
  none,       // the properties are unchanged: the user requested profiling, or the driver refused it
  bit,        // the profiling bit was added to the user's properties
  prepended,  // a pair with the profiling bit was put before the user's pairs
  created     // a list was created because the user passed none
};

struct Queue {
  uint64_t number;  // stream id in the profile; 1, 2, ...
  uint32_t device;
  Rewrite rewrite;
};

// Finds the queue of a command. Adds a queue that was not created through the layer (but by an extension function).
// Returns false if `handle` is not a queue.
bool find_or_add_queue(cl_command_queue handle, Queue* queue);

}  // namespace gpuprof::injection::opencl
