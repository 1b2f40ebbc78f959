// Handles a call that enqueues a command, before and after the driver's call.
#pragma once

#include <cstdint>

#include "opencl/completion.h"
#include "opencl/dispatch.h"
#include "wire/wire.h"

namespace gpuprof::injection::opencl {

struct Command {
  const char* function;
  gpuprof_op op;
  uint64_t bytes = 0;
  bool blocking = false;  // true: the call returns only when the command has completed
  cl_kernel kernel = nullptr;
  const char* name = nullptr;  // name of work that is not a kernel
};

// Returns the product of a region's three lengths: the bytes of a region of a buffer.
uint64_t volume(const size_t* region);

// Returns the bytes of a region of an image.
uint64_t image_bytes(cl_mem image, const size_t* region);

// Starts a command before the driver's call, and calls the launch probe. If this returns null, do not call end().
Pending* begin(cl_command_queue queue, const Command& command);

// Finishes a command after the driver's call. `event` may be null.
void end(Pending* pending, const char* function, cl_int status, cl_event event, bool users_event);

// Reports a call that the driver rejected and that is not a recorded launch.
void call_rejected(const char* function, cl_int status);

// Traces one call that begin() has begun. If `pending` is null, reports only an error. `call` must pass the given event
// pointer to the driver's function, and return its status.
template <typename Call>
cl_int traced(Pending* pending, const char* function, cl_event* users_event, const Call& call) {
  if (pending == nullptr) {
    const cl_int status = call(users_event);
    if (status != CL_SUCCESS) {
      call_rejected(function, status);
    }
    return status;
  }
  cl_event own = nullptr;
  cl_event* event = users_event != nullptr ? users_event : &own;
  const cl_int status = call(event);
  end(pending, function, status, status == CL_SUCCESS ? *event : nullptr, users_event != nullptr);
  return status;
}

// Begins and traces one call.
template <typename Call>
cl_int traced(cl_command_queue queue, const Command& command, cl_event* users_event, const Call& call) {
  return traced(begin(queue, command), command.function, users_event, call);
}

}  // namespace gpuprof::injection::opencl
