// Emits records of GPU work and host operations. All except graph nodes use the note of their launch (launch_notes.h).
#pragma once

#include "wire/wire.h"

namespace gpuprof::injection {

// Report a finished work item and a host operation. If the launch was outside of options.nvtx_range, nothing is
// reported; gpu_op() counts this. `may_wait`: wait up to a second for free space; never use it on a launching
// thread.
void gpu_op(gpuprof_gpu_op op, bool may_wait);
// Forgets the launches of an old source.
void reset_work();
void host_op(gpuprof_host_op op);

// Report HOST_OPs: a wait of this thread for a device, the duration of another call of this thread, and an event
// without a duration in a call of thread `tid`: memory was allocated or freed. The other call may also wait for the
// device: for example, a free may wait for the work that uses the memory. `correlation` is the id of the call's stack.
void host_wait(uint64_t correlation, uint64_t start_ns, uint64_t end_ns, const char* function);
void host_call(uint64_t correlation, uint64_t start_ns, uint64_t end_ns, const char* function);
struct HostEvent {
  gpuprof_host_op_kind kind;
  const char* name;  // name of the called function
  uint64_t bytes;
  uint32_t device;  // UINT32_MAX: the event is not tied to one device
};
void host_event(const HostEvent& event, uint64_t correlation, uint32_t tid);

// Times a call of the vendor's API from construction to end(), and reports it. Of nested calls of a thread, only the
// outermost is reported. A callback may leave the call by a jump or an exception. Then nothing is reported.
class HostCall {
 public:
  HostCall();
  ~HostCall();
  HostCall(const HostCall&) = delete;
  HostCall& operator=(const HostCall&) = delete;
  // Call it after the vendor's function has returned. `is_slow`: every call of the function is reported. Otherwise,
  // only those that last GPUPROF_LONG_CALL_NS are. `stack` is the id of the call's stack. If it is 0 and the call is
  // reported, takes the stack. Returns the id, or 0 if no stack was taken.
  uint64_t end(const char* function, bool is_slow, uint64_t stack = 0);

 private:
  uint64_t number_ = 0;    // distinguishes the calls of a thread
  uint64_t start_ns_ = 0;  // 0: the call is not timed
};

// Reports the call of the thread's last launch by host_call(), if it lasted GPUPROF_LONG_CALL_NS. `end_ns`: when the
// vendor's function returned. Takes a stack, so call it last.
void report_if_long(const char* function, uint64_t end_ns);

// Reports that a call returned an error. `correlation` is the id of the call's stack. A launch (the thread's last one)
// also counts as failed.
struct CallError {
  const char* function;
  const char* name;  // name of the error; null: unknown
  int64_t code;
};
void call_failed(uint64_t correlation, const CallError& error);

void graph_node(gpuprof_graph_node node);
// Reports a graph launch after launch() with the same id. Fills in time, thread and flags.
void graph_launch(gpuprof_graph_launch launch);

// Reports the last launch of this thread as a call (GPUPROF_RECORD_CALL).
void call(gpuprof_call call);

}  // namespace gpuprof::injection
