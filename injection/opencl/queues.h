// Command queues: each gets a number and is made to time its commands, which the user of the queue must not notice.
#pragma once

#include <cstdint>

#include "opencl/dispatch.h"

namespace gpuprof::injection::opencl {

// What we changed in the properties that the user gave.
enum class Rewrite : uint32_t {
  none,       // the user asked for profiling, or the driver refused it
  bit,        // the profiling bit was added to the properties
  prepended,  // a pair with the profiling bit was put before the user's pairs
  created     // the user gave no list at all
};

struct Queue {
  uint64_t number;  // the stream of the profile; 1, 2, ...
  uint32_t device;  // index
  Rewrite rewrite;
};

// Of a queue that gets a command; one that was made by an extension function, and not through the layer, is taken in as
// it is. False: there is no such queue.
bool find_or_add_queue(cl_command_queue handle, Queue* queue);

}  // namespace gpuprof::injection::opencl
