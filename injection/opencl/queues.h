// Numbers command queues and enables profiling on them. Queries by the user must not show the change.
#pragma once

#include <cstdint>

#include "opencl/dispatch.h"

namespace gpuprof::injection::opencl {

enum class Rewrite : uint32_t {
  none,       // unchanged: the user requested profiling, or the driver refused it
  bit,        // added the profiling bit to the properties
  prepended,  // put a pair with the profiling bit before the user's pairs
  created     // created a list because the user passed none
};

struct Queue {
  uint64_t number;  // stream id in the profile; 1, 2, ...
  uint32_t device;  // device number
  Rewrite rewrite;
};

// Finds a command's queue. Adds queues that were not created through the layer (by an extension function). False: not a
// queue.
bool find_or_add_queue(cl_command_queue handle, Queue* queue);

}  // namespace gpuprof::injection::opencl
