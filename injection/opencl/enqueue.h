// A call that puts a command on a queue, from before the driver's call to after it.
#pragma once

#include <cstdint>

#include "opencl/completion.h"
#include "opencl/dispatch.h"
#include "wire/wire.h"

namespace gpuprof::injection::opencl {

struct Command {
  const char* function;  // that the user calls
  gpuprof_op op;
  uint64_t bytes = 0;
  bool blocking = false;  // the call returns when the command has completed
  cl_kernel kernel = nullptr;
};

// Before the driver is called: calls the launch probe. Null: do nothing more for this command.
Pending* begin(cl_command_queue queue, const Command& command);

// After the driver was called. `event` is null where there is none.
void end(Pending* pending, const char* function, cl_int status, cl_event event, bool users_event);

// `call` makes the driver's call with the event pointer that it is given, and returns its status.
template <typename Call>
cl_int traced(cl_command_queue queue, const Command& command, cl_event* users_event, const Call& call) {
  Pending* pending = begin(queue, command);
  if (pending == nullptr) {
    return call(users_event);
  }
  cl_event own = nullptr;
  cl_event* event = users_event != nullptr ? users_event : &own;
  const cl_int status = call(event);
  end(pending, command.function, status, status == CL_SUCCESS ? *event : nullptr, users_event != nullptr);
  return status;
}

}  // namespace gpuprof::injection::opencl
