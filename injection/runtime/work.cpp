#include "runtime/work.h"

#include <cstdio>
#include <iterator>

#include "base/atomics.h"
#include "base/keep_errno.h"
#include "base/monotonic_clock.h"
#include "base/thread_state.h"
#include "ipc/emit.h"
#include "ipc/ring.h"
#include "runtime/launch.h"
#include "runtime/launch_notes.h"
#include "runtime/lifecycle.h"
#include "stack/thread_stack.h"

namespace gpuprof::injection {
namespace {

// Finds the note of a launch. Returns false if the launch is outside of the recorded range. Returns true for work
// without a launch id.
bool note_of(uint64_t correlation, LaunchNote* note) {
  return (correlation & GPUPROF_CORRELATION_EXEC) != 0 || !find_launch(correlation, note) ||
         (note->flags & kLaunchOutside) == 0;
}

// The launches with several work items that are being reported, each in the slot of its id: twice the id, plus 1 if its
// items are lost. If there is no space for the first item, all items are lost. So the profile has all work of a launch
// or none of it.
uint64_t reported[64];

// Emits one of several work items of a launch.
void emit_part(gpuprof_gpu_op& op, bool may_wait) {
  uint64_t& slot = reported[op.correlation % std::size(reported)];
  const uint64_t last = load_relaxed(&slot);
  if (last == (op.correlation << 1U | 1U)) {
    lost(GPUPROF_LOSS_RING_FULL, 1);
    return;
  }
  const bool is_first = last != op.correlation << 1U;
  ThreadState& thread = thread_state();
  thread.completes_launch = is_first ? 0 : 1;
  const bool written = emit_record(op, may_wait);
  thread.completes_launch = 0;
  if (is_first) {
    store_relaxed(&slot, op.correlation << 1U | (written ? 0U : 1U));
  }
}

}  // namespace

void reset_work() {
  for (uint64_t& slot : reported) {
    slot = 0;
  }
}

void gpu_op(gpuprof_gpu_op op, bool may_wait) {
  LaunchNote note = {};
  if (!note_of(op.correlation, &note)) {
    count(GPUPROF_COUNT_OUTSIDE);
    return;
  }
  if ((note.flags & kLaunchSeveral) != 0) {
    op.flags |= GPUPROF_GPU_OP_MORE;
  }
  count(GPUPROF_COUNT_GPU_OPS);
  op.header.type = GPUPROF_RECORD_GPU_OP;
  if ((op.flags & GPUPROF_GPU_OP_MORE) != 0) {
    emit_part(op, may_wait);
  } else {
    emit_record(op, may_wait);
  }
}

void host_op(gpuprof_host_op op) {
  LaunchNote note = {};
  if (note_of(op.correlation, &note)) {
    op.header.type = GPUPROF_RECORD_HOST_OP;
    emit_record(op);
  }
}

namespace {

void host_interval(gpuprof_host_op_kind kind, uint64_t correlation, uint64_t start_ns, uint64_t end_ns,
                   const char* function) {
  gpuprof_host_op op = {};
  op.correlation = correlation;
  op.start_ns = start_ns;
  op.end_ns = end_ns;
  op.count = 1;
  op.name_id = name_id(function);
  op.device = UINT32_MAX;
  op.tid = thread_id();
  op.op = static_cast<uint16_t>(kind);
  host_op(op);
}

}  // namespace

void host_wait(uint64_t correlation, uint64_t start_ns, uint64_t end_ns, const char* function) {
  host_interval(GPUPROF_HOST_SYNC, correlation, start_ns, end_ns, function);
}

void host_call(uint64_t correlation, uint64_t start_ns, uint64_t end_ns, const char* function) {
  host_interval(GPUPROF_HOST_CALL, correlation, start_ns, end_ns, function);
}

namespace {

// Returns whether a call that HostCall times is running. `frame` is an address in the caller's frame. If a jump has
// left the call, its HostCall still seems to run. But then the stack has shrunk, or later frames have overwritten it.
bool is_inside_call(ThreadState& thread, const void* frame) {
  const auto outer = reinterpret_cast<uintptr_t>(thread.outer_call);
  const auto here = reinterpret_cast<uintptr_t>(frame);
  if (outer == 0 || here >= outer) {
    return false;
  }
  // The thread's own stack is mapped as long as the thread lives. The stack of a coroutine may be gone.
  char buffer[1024];
  const StackRange own = own_stack(thread, here, buffer, sizeof(buffer));
  const bool readable = within(own, outer) && within(own, outer + sizeof(uint64_t) - 1);
  return !readable || *static_cast<const volatile uint64_t*>(thread.outer_call) == thread.outer_number;
}

}  // namespace

void report_if_long(const char* function, uint64_t end_ns) {
  const uint64_t begun_ns = launched_ns();
  if (begun_ns != 0 && end_ns >= begun_ns + GPUPROF_LONG_CALL_NS && !is_inside_call(thread_state(), &begun_ns)) {
    host_call(stack_of_host_call(), begun_ns, end_ns, function);
  }
}

HostCall::HostCall() {
  const KeepErrno keep_errno;
  ThreadState& thread = thread_state();
  if (is_inside_call(thread, this)) {
    return;
  }
  number_ = ++thread.outer_number;
  thread.outer_call = this;
  start_ns_ = active() ? now_ns() : 0;
}

HostCall::~HostCall() {
  ThreadState& thread = thread_state();
  if (thread.outer_call == this) {  // false, too, if the call has forked, and this is the child
    thread.outer_call = nullptr;
  }
}

uint64_t HostCall::end(const char* function, bool is_slow, uint64_t stack) {
  if (start_ns_ == 0) {
    return stack;
  }
  const KeepErrno keep_errno;
  const uint64_t end_ns = now_ns();
  if ((is_slow || end_ns - start_ns_ >= GPUPROF_LONG_CALL_NS) && recording()) {
    stack = stack == 0 ? stack_of_host_call() : stack;
    host_call(stack, start_ns_, end_ns, function);
  }
  return stack;
}

void host_event(const HostEvent& event, uint64_t correlation, uint32_t tid) {
  gpuprof_host_op op = {};
  op.correlation = correlation;
  op.start_ns = now_ns();
  op.end_ns = op.start_ns;
  op.bytes = event.bytes;
  op.count = 1;
  op.name_id = name_id(event.name);
  op.device = event.device;
  op.tid = tid;
  op.op = static_cast<uint16_t>(event.kind);
  host_op(op);
}

void call_failed(uint64_t correlation, const CallError& error) {
  if ((correlation & GPUPROF_CORRELATION_HOST) == 0) {
    if (!is_last_launch(correlation)) {
      return;
    }
    count(GPUPROF_COUNT_FAILED);
  }
  char text[256];
  const bool told = error.name != nullptr || error.code != 0;  // some functions return only a null pointer
  snprintf(text, sizeof(text),
           !told                     ? "%.120s: failed"
           : error.code > UINT16_MAX ? "%.120s: %.100s (%#llx)"
                                     : "%.120s: %.100s (%lld)",
           error.function == nullptr ? "[unknown]" : error.function, error.name == nullptr ? "error" : error.name,
           static_cast<long long>(error.code));
  host_event({GPUPROF_HOST_FAILED, text, 0, UINT32_MAX}, correlation, thread_id());
}

void graph_launch(gpuprof_graph_launch launch) {
  LaunchNote note = {};
  if (find_launch(launch.correlation, &note)) {
    launch.flags = (note.flags & kLaunchOutside) != 0 ? GPUPROF_GPU_OP_OUTSIDE : 0U;
  }
  launch.time_ns = now_ns();
  launch.header.type = GPUPROF_RECORD_GRAPH_LAUNCH;
  emit_record(launch);
}

void graph_node(gpuprof_graph_node node) {
  node.time_ns = now_ns();
  node.header.type = GPUPROF_RECORD_GRAPH_NODE;
  emit_record(node);
}

void call(gpuprof_call call) {
  if (is_last_launch(call.correlation)) {
    call.header.type = GPUPROF_RECORD_CALL;
    emit_record(call);
  }
}

}  // namespace gpuprof::injection
