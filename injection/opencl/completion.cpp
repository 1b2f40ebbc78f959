#include "opencl/completion.h"

#include <cstdlib>
#include <ctime>

#include "base/atomics.h"
#include "base/keep_errno.h"
#include "base/monotonic_clock.h"
#include "ipc/emit.h"
#include "opencl/devices.h"
#include "runtime/launch.h"
#include "runtime/recording.h"
#include "runtime/work.h"

namespace gpuprof::injection::opencl {
namespace {

uint64_t watched = 0;
uint64_t completed = 0;

uint32_t exit_begun = 0;  // atomic

uint64_t outstanding() {
  const uint64_t ended = load_acquire(&completed);  // read first: no command completes before it is watched
  return load_relaxed(&watched) - ended;
}

// Counts a command. The exit handler must run before the destructors of the driver's compiler, whose objects are made
// when it first needs them: at a build, or at a launch on a thread of the driver. So the handler moves up after the
// first, second, fourth... command has been enqueued and has completed. This matters if the main thread, for which
// exit_first_on_main_thread() was called, does not end the process.
void count_command(uint64_t* counter) {
  const uint64_t before = __atomic_fetch_add(counter, uint64_t{1}, __ATOMIC_RELEASE);
  if ((before & (before + 1)) == 0) {
    move_exit_handler();
  }
}

// True while this thread requests a callback. A callback may then run at once, inside the launch, so it must not wait
// for free space in the ring.
constinit thread_local bool watching = false;

struct Times {
  cl_ulong queued = 0;
  cl_ulong submitted = 0;
  cl_ulong start = 0;
  cl_ulong end = 0;
};

bool read_time(cl_event event, cl_profiling_info name, cl_ulong* time) {
  return target.clGetEventProfilingInfo(event, name, sizeof(*time), time, nullptr) == CL_SUCCESS;
}

bool read_times(cl_event event, Times* times) {
  if (!read_time(event, CL_PROFILING_COMMAND_START, &times->start) ||
      !read_time(event, CL_PROFILING_COMMAND_END, &times->end)) {
    return false;
  }
  if (!read_time(event, CL_PROFILING_COMMAND_QUEUED, &times->queued)) {
    times->queued = 0;
  }
  if (!read_time(event, CL_PROFILING_COMMAND_SUBMIT, &times->submitted)) {
    times->submitted = 0;
  }
  return true;
}

// Sets the start of a command buffer: its commands began when all that it waited for had ended. PoCL queues its event
// after the commands, so on a busy machine some commands may have ended before it was queued.
void include_commands(cl_event before, Times* times) {
  cl_ulong ready = 0;
  if (!read_time(before, CL_PROFILING_COMMAND_END, &ready)) {
    return;
  }
  if (ready != 0 && ready < times->start && times->start <= times->end) {
    times->start = ready;
    times->queued = times->queued < ready ? times->queued : ready;
    times->submitted = 0;
  }
}

void emit(const Pending& pending, const Times& times) {
  if (times.start == 0 || times.end == 0 || times.end < times.start) {
    lost(GPUPROF_LOSS_INVALID_TIMESTAMP, 1);
    return;
  }
  const auto offset = static_cast<uint64_t>(clock_offset(pending.device, times.end, now_ns()));
  gpuprof_gpu_op op = {};
  op.correlation = pending.correlation;
  op.start_ns = times.start + offset;
  op.end_ns = times.end + offset;
  op.queued_ns = times.queued == 0 ? 0 : times.queued + offset;
  op.submitted_ns = times.submitted == 0 ? 0 : times.submitted + offset;
  op.bytes = pending.bytes;
  op.stream = pending.stream;
  op.name_id = pending.name;
  op.device = pending.device;
  op.op = static_cast<uint16_t>(pending.op);
  gpu_op(op, !watching);
}

// Runs on a driver thread, or inside watch(). If `status` is negative, the command has failed and has no times.
void CL_CALLBACK on_complete(cl_event event, cl_int status, void* data) {
  const KeepErrno keep_errno;  // the callback may run inside a call of the target
  auto* pending = static_cast<Pending*>(data);
  const bool timed = pending->timed && !watching;  // inside watch(), the caller measures
  const uint64_t entered = timed ? now_ns() : 0;
  Times times;
  if (status >= 0 && read_times(event, &times)) {
    if (pending->before != nullptr) {
      include_commands(pending->before, &times);
    }
    emit(*pending, times);
  } else {
    lost(GPUPROF_LOSS_NO_TIMING, 1);
  }
  discard(pending);
  target.clReleaseEvent(event);
  if (timed) {
    add_overhead(now_ns() - entered);
  }
  count_command(&completed);
}

}  // namespace

void discard(Pending* pending) {
  if (pending->before != nullptr) {
    target.clReleaseEvent(pending->before);
  }
  free(pending);
}

void watch(cl_event event, Pending* pending) {
  count_command(&watched);
  watching = true;
  const cl_int status = target.clSetEventCallback(event, CL_COMPLETE, on_complete, pending);
  watching = false;
  if (status != CL_SUCCESS) {
    on_complete(event, CL_INVALID_OPERATION, pending);
  }
}

void wait_for_outstanding() {
  if (!swap_if(&exit_begun, 0, 1)) {
    return;
  }
  const timespec nap = {0, 1'000'000};
  const uint64_t begin = now_ns();
  while (outstanding() != 0 && now_ns() - begin < kExitWaitForWorkNs) {
    nanosleep(&nap, nullptr);
  }
  note_exit_wait(now_ns() - begin);
}

void count_unfinished() {
  lost(GPUPROF_LOSS_UNFINISHED, outstanding());
}

void forget_outstanding() {
  store_relaxed(&completed, uint64_t{0});
  store_relaxed(&watched, uint64_t{0});
}

}  // namespace gpuprof::injection::opencl
