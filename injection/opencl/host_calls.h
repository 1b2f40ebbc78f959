// What all hooks share whose calls are more than GPU work: the record of a call that waits.
#pragma once

#include <cstdint>

#include "opencl/dispatch.h"

namespace gpuprof::injection::opencl {

// The stack of a call that is no launch, under an id of its own, which is returned.
uint64_t take_host_stack();

// A call that waited for a device, or was refused: then it is not told of.
struct Wait {
  uint64_t correlation;  // of take_host_stack()
  const char* function;
  uint64_t start_ns;
  uint64_t end_ns;
};
void emit_wait(const Wait& wait, cl_int status);

}  // namespace gpuprof::injection::opencl
