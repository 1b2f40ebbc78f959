// Handles a command that the target appends to a list, before and after the driver's call.
#pragma once

#include <cstdint>

#include "level_zero/api/api.h"
#include "wire/wire.h"

namespace gpuprof::injection::level_zero {

struct Command {
  ze_command_list_handle_t list;
  ze_event_handle_t* signal;  // The call's argument. begin_command() may replace it until end_command().
  gpuprof_op op;
  uint64_t bytes = 0;
  ze_kernel_handle_t kernel = nullptr;
  // Addresses of a GPUPROF_OP_COPY, which determine its direction. Null: the copy is to or from an image, not memory.
  const void* to = nullptr;
  const void* from = nullptr;
};

// Called in the tracer's prologue. `call` is a slot of the tracing layer, which also passes it to the epilogue of the
// call.
void begin_command(Command command, void** call);

void end_command(ze_command_list_handle_t list, ze_event_handle_t* signal, ze_result_t result, void** call);

// Handle a call that executes lists on a queue or an immediate list, before and after the driver's call.
void begin_execution(uint32_t count, ze_command_list_handle_t* handles, void** call);
struct Execution {
  void* target;
  bool immediate;
  uint32_t count;
  ze_command_list_handle_t* lists;
};
void end_execution(const Execution& execution, ze_result_t result, void** call);

}  // namespace gpuprof::injection::level_zero
