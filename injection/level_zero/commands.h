// A command that the target appends to a list, from before the driver's call to after it.
#pragma once

#include <cstdint>

#include "level_zero/api.h"
#include "wire/wire.h"

namespace gpuprof::injection::level_zero {

struct Command {
  ze_command_list_handle_t list;
  ze_event_handle_t* signal;  // the call's own argument, which may be replaced for the time of the call
  gpuprof_op op;
  uint64_t bytes = 0;
  ze_kernel_handle_t kernel = nullptr;
  // Of a copy, where `op` is GPUPROF_OP_COPY: they say the direction. Null: not memory
  const void* to = nullptr;
  const void* from = nullptr;
};

// In the prologue. `call` is what the tracing layer keeps for the epilogue of this call.
void begin_command(Command command, void** call);

// In the epilogue.
void end_command(ze_command_list_handle_t list, ze_event_handle_t* signal, ze_result_t result, void** call);

// The same of a call that executes lists on a queue, or on an immediate list.
void begin_execution(uint32_t count, ze_command_list_handle_t* handles, void** call);
struct Execution {
  void* target;
  bool immediate;
  uint32_t count;
  ze_command_list_handle_t* lists;
};
void end_execution(const Execution& execution, ze_result_t result, void** call);

}  // namespace gpuprof::injection::level_zero
