#include "opencl/enqueue.h"

#include <cstdlib>
#include <cstring>

#include "base/keep_errno.h"
#include "base/monotonic_clock.h"
#include "base/thread_state.h"
#include "ipc/emit.h"
#include "opencl/devices.h"
#include "opencl/error_names.h"
#include "opencl/extensions.h"
#include "opencl/queues.h"
#include "runtime/launch.h"
#include "runtime/lifecycle.h"
#include "runtime/work.h"

namespace gpuprof::injection::opencl {
namespace {

// Returns the name id of a kernel, or 0 if the driver gives no name. A driver may report success without writing
// anything, or a wrong length. So the memory is zeroed, and only the text in it counts.
uint32_t kernel_name(cl_kernel kernel) {
  constexpr size_t kLongest = 65536;
  char name[512] = {};
  size_t bytes = 0;
  const cl_int status = target.clGetKernelInfo(kernel, CL_KERNEL_FUNCTION_NAME, sizeof(name), name, &bytes);
  if (status == CL_SUCCESS) {
    return name_id(name, strnlen(name, sizeof(name)));
  }
  if (target.clGetKernelInfo(kernel, CL_KERNEL_FUNCTION_NAME, 0, nullptr, &bytes) != CL_SUCCESS || bytes <= 1 ||
      bytes > kLongest) {
    return 0;
  }
  auto* longer = static_cast<char*>(calloc(1, bytes));
  if (longer == nullptr) {
    lost(GPUPROF_LOSS_OUT_OF_MEMORY, 1);
    return 0;
  }
  uint32_t id = 0;
  if (target.clGetKernelInfo(kernel, CL_KERNEL_FUNCTION_NAME, bytes, longer, nullptr) == CL_SUCCESS) {
    id = name_id(longer, strnlen(longer, bytes));
  }
  free(longer);
  return id;
}

// Watches the event. watch() takes one reference: a user's event is retained for it, a library event has only this one.
void follow(Pending* pending, cl_event event, bool users_event) {
  const bool in_known_queue = pending->stream != 0;
  if (!in_known_queue || (users_event && target.clRetainEvent(event) != CL_SUCCESS)) {
    if (!users_event) {
      target.clReleaseEvent(event);
    }
    lost(GPUPROF_LOSS_NO_TIMING, 1);
    discard(pending);
    return;
  }
  watch(event, pending);
}

// Reports the driver's call. A blocking call is reported both as a wait and as a launching call.
void report_enqueue(const Pending& pending, const char* function, cl_int status, uint64_t end_ns) {
  if ((control() & GPUPROF_CONTROL_CALLS) != 0) {
    gpuprof_call record = {};
    record.correlation = pending.correlation;
    record.start_ns = pending.start_ns;
    record.end_ns = end_ns;
    record.name_id = name_id(function);
    record.tid = thread_id();
    call(record);
  }
  if (pending.wait != 0 && has_waited(status)) {
    host_wait(pending.wait, pending.start_ns, end_ns, function);
  }
}

}  // namespace

uint64_t volume(const size_t* region) {
  return region == nullptr ? 0 : uint64_t{region[0]} * region[1] * region[2];
}

uint64_t image_bytes(cl_mem image, const size_t* region) {
  size_t element = 0;
  if (target.clGetImageInfo(image, CL_IMAGE_ELEMENT_SIZE, sizeof(element), &element, nullptr) != CL_SUCCESS) {
    return 0;
  }
  return volume(region) * element;
}

Pending* begin(cl_command_queue handle, const Command& command) {
  const KeepErrno keep_errno;
  Queue queue = {};
  const bool on = recording();
  report_unknown_calls(on);
  if (!on) {
    count_passed();
    return nullptr;
  }
  const uint64_t begun_ns = begin_timing();
  const bool found = find_or_add_queue(handle, &queue);  // if not, the driver will refuse the command
  auto* pending = static_cast<Pending*>(malloc(sizeof(Pending)));
  if (pending == nullptr) {
    lost(GPUPROF_LOSS_OUT_OF_MEMORY, 1);
    return nullptr;
  }
  if (found) {
    announce_device(queue.device);
  }
  const uint32_t name = command.name != nullptr           ? name_id(command.name)
                        : command.op == GPUPROF_OP_KERNEL ? kernel_name(command.kernel)
                                                          : 0;
  *pending = {next_correlation(), command.bytes, queue.number, name, queue.device, command.op, false, 0, 0, nullptr};
  pending->timed = launch(pending->correlation, false, 0, begun_ns);
  const uint64_t launched = pending->timed ? now_ns() : 0;
  if (command.blocking) {
    pending->wait = stack_of_host_call();
  }
  if (command.blocking || (control() & GPUPROF_CONTROL_CALLS) != 0) {
    pending->start_ns = now_ns();
  }
  if (pending->timed) {
    add_overhead(now_ns() - launched);
  }
  return pending;
}

void call_rejected(const char* function, cl_int status) {
  const KeepErrno keep_errno;
  if (recording()) {
    call_failed(stack_of_host_call(), {function, error_name(status), status});
  }
}

void end(Pending* pending, const char* function, cl_int status, cl_event event, bool users_event) {
  const KeepErrno keep_errno;
  const uint64_t end_ns = now_ns();
  const bool timed = pending->timed;
  const bool waits = pending->wait != 0;
  if (pending->start_ns != 0) {
    report_enqueue(*pending, function, status, end_ns);
  }
  if (status == CL_SUCCESS && event != nullptr) {
    follow(pending, event, users_event);
    if (timed) {
      add_overhead(now_ns() - end_ns);
    }
  } else {
    if (status != CL_SUCCESS) {
      call_failed(pending->correlation, {function, error_name(status), status});
    }
    discard(pending);
  }
  if (!waits) {
    report_if_long(function, end_ns);
  }
}

}  // namespace gpuprof::injection::opencl
