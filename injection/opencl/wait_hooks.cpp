// Hooks calls that wait for the device and enqueue nothing. enqueue_hooks.cpp hooks blocking copies and maps, which
// also enqueue. clFlush does not wait. A blocking clEnqueueSVMMap is reported only as a wait, because most devices with
// such memory copy nothing.
#include "base/keep_errno.h"
#include "base/monotonic_clock.h"
#include "opencl/dispatch.h"
#include "opencl/error_names.h"
#include "opencl/extensions.h"
#include "runtime/launch.h"
#include "runtime/lifecycle.h"
#include "runtime/work.h"

namespace gpuprof::injection::opencl {
namespace {

template <typename Call>
cl_int timed(const char* function, const Call& call) {
  uint64_t correlation = 0;
  uint64_t start_ns = 0;
  {
    const KeepErrno keep_errno;
    const bool on = recording();
    report_unknown_calls(on);
    if (on) {
      correlation = stack_of_host_call();
      start_ns = now_ns();
    }
  }
  const cl_int status = call();
  if (correlation != 0) {
    const KeepErrno keep_errno;
    if (status != CL_SUCCESS) {
      call_failed(correlation, {function, error_name(status), status});
    }
    if (has_waited(status)) {
      host_wait(correlation, start_ns, now_ns(), function);
    }
  }
  return status;
}

cl_int CL_API_CALL finish_queue(cl_command_queue queue) {
  return timed("clFinish", [&] { return target.clFinish(queue); });
}

cl_int CL_API_CALL wait_for_events(cl_uint count, const cl_event* events) {
  return timed("clWaitForEvents", [&] { return target.clWaitForEvents(count, events); });
}

cl_int CL_API_CALL svm_map(cl_command_queue queue, cl_bool blocking, cl_map_flags flags, void* memory, size_t bytes,
                           cl_uint waits, const cl_event* wait_list, cl_event* event) {
  const auto call = [&] {
    return target.clEnqueueSVMMap(queue, blocking, flags, memory, bytes, waits, wait_list, event);
  };
  return blocking != CL_FALSE ? timed("clEnqueueSVMMap", call) : call();
}

}  // namespace

void hook_waits(cl_icd_dispatch& table) {
  GPUPROF_HOOK(table, clFinish, finish_queue);
  GPUPROF_HOOK(table, clWaitForEvents, wait_for_events);
  GPUPROF_HOOK(table, clEnqueueSVMMap, svm_map);
}

}  // namespace gpuprof::injection::opencl
