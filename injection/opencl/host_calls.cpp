#include "opencl/host_calls.h"

#include "base/thread_state.h"
#include "ipc/emit.h"
#include "runtime/launch.h"
#include "runtime/work.h"

namespace gpuprof::injection::opencl {
uint64_t take_host_stack() {
  const uint64_t correlation = GPUPROF_CORRELATION_HOST | next_correlation();
  stack_here(correlation);
  return correlation;
}

void emit_wait(const Wait& wait, cl_int status) {
  if (status != CL_SUCCESS && status != CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST) {
    return;  // the other one has waited, for a command that failed
  }
  gpuprof_host_op op = {};
  op.correlation = wait.correlation;
  op.start_ns = wait.start_ns;
  op.end_ns = wait.end_ns;
  op.count = 1;
  op.name_id = name_id(wait.function);
  op.device = UINT32_MAX;
  op.tid = thread_id();
  op.op = GPUPROF_HOST_SYNC;
  host_op(op);
}

}  // namespace gpuprof::injection::opencl
