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

// A call that is under way.
struct Enqueue {
  Pending* pending = nullptr;  // null: do nothing more for this command
  uint64_t wait = 0;           // of take_host_stack(); 0: the call does not block
  uint64_t start_ns = 0;       // of the driver's call; 0: not asked for
};

// Before the driver is called: calls the launch probe.
Enqueue begin(cl_command_queue queue, const Command& command);

// After the driver was called. `event` is null where there is none.
void end(const Enqueue& enqueue, const Command& command, cl_int status, cl_event event, bool users_event);

// `call` makes the driver's call with the event pointer that it is given, and returns its status.
template <typename Call>
cl_int traced(cl_command_queue queue, const Command& command, cl_event* users_event, const Call& call) {
  const Enqueue enqueue = begin(queue, command);
  if (enqueue.pending == nullptr) {
    return call(users_event);
  }
  cl_event own = nullptr;
  cl_event* event = users_event != nullptr ? users_event : &own;
  const cl_int status = call(event);
  end(enqueue, command, status, status == CL_SUCCESS ? *event : nullptr, users_event != nullptr);
  return status;
}

}  // namespace gpuprof::injection::opencl
