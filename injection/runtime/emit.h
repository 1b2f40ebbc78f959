// What an injection library calls; the folders beside this one are behind it.
// Safe from any thread, never blocks for more than about 20 ms (a thread that holds a lock of ours is off the CPU),
// never throws, never prints.
#pragma once

#include <cstdint>

#include "base/keep_errno.h"
#include "runtime/thread_state.h"
#include "wire/wire.h"

// The stack source hooks here: BPF attaches a uprobe to its first instruction, a 5-byte nop. It does nothing.
// Called on the launching thread, before the launch goes to the driver.
// `range` is the id of the RANGE that the thread is in, 0 for none; `python` its PyThreadState, null for none.
extern "C" void gpuprof_launch_probe(uint64_t correlation, uint32_t source, uint32_t range, const void* python);

namespace gpuprof::injection {

// Connects to the recorder (GPUPROF_SOCKET, GPUPROF_TOKEN, GPUPROF_UID) and maps the segment. False: profiling stays
// off. Installs the fork handler: in a forked child the connection is made anew at the first launch there.
bool start(const char* backend);

// The same in a process that was not started by the recorder: where it listens and as whom, instead of the
// environment.
bool start_attached(const char* backend, const char* socket, const char* token, uint32_t user);

// Whether to record now: connected, enabled by the recorder, and not switched off by disable().
[[nodiscard]] bool active();

[[nodiscard]] uint32_t source();

// Profiling off for good in this process, with the reason for the profile.
void disable(const char* reason);

// The recorder has not looked at the segment for ten seconds: it was killed, or stopped. Nobody reads what would be
// recorded, so a library stops causing costs, and looks again now and then.
[[nodiscard]] bool recorder_silent();

// Our own code is running on this thread: callbacks caused by it must be ignored. Leaves errno as it was.
class Guard {
 public:
  Guard() : thread_(thread_state()), entered_(thread_.in_guard == 0) { thread_.in_guard = 1; }
  ~Guard() {
    if (entered_) {
      thread_.in_guard = 0;
    }
  }
  Guard(const Guard&) = delete;
  Guard& operator=(const Guard&) = delete;
  [[nodiscard]] bool entered() const { return entered_; }  // false: already inside, do nothing

 private:
  KeepErrno keep_errno_;
  ThreadState& thread_;
  bool entered_;
};

// A launch on this thread: counts it and calls the probe, and emits a LAUNCH record where the recorder asks for one.
// While the recorder wants stacks for a share of the launches only, or for those in one NVTX range, others are
// remembered in a table (launch_table.h) for their GPU work. `several`: more than one GPU_OP will have this id.
// `name`: id of the kernel's name, 0 for none; see launch_name().
void launch(uint64_t correlation, bool several = false, uint32_t name = 0);

// What a launch was given as its kernel's name; 0: none, or it was too long ago (launch_table.h).
uint32_t launch_name(uint64_t correlation);

// The launch, the last one of this thread, became a node of a graph, or failed: it will have no GPU work.
void launch_captured(uint64_t correlation);
void launch_failed(uint64_t correlation);

// The stack of a call that is no launch: `correlation` has GPUPROF_CORRELATION_HOST or GPUPROF_CORRELATION_NODE.
void stack_here(uint64_t correlation);

// One launch in 64 is timed: launch() times itself, and a library adds what it does around that. Ask before launch()
// whether the next one on this thread is timed, and if so add the time spent outside of launch(). A time longer than
// 100 us counts as 100 us: the thread was off the CPU meanwhile, and one such time would hide all others.
[[nodiscard]] bool next_launch_timed();
void add_overhead(uint64_t ns);

// A unique correlation id, for vendor interfaces that have none.
uint64_t next_correlation();

// The id of a text, emitting a NAME record at its first use. 0 on an empty text or when out of memory (counted).
uint32_t name_id(const char* text);
uint32_t name_id(const char* text, size_t length);

// Fills in the header. May wait some milliseconds for space where `may_wait` (never on a launching thread); else,
// and after the wait, the record is dropped and counted.
// gpu_op, host_op: look up the launch table, and drop what is outside of options.nvtx_range (counted for gpu_op).
void gpu_op(gpuprof_gpu_op op, bool may_wait);
void host_op(gpuprof_host_op op);
void graph_node(gpuprof_graph_node node);
// After launch() of the same id: fills in the time, the thread and the flags, too.
void graph_launch(gpuprof_graph_launch launch);
void call(gpuprof_call call);
bool range(gpuprof_range range);  // false: it could not be written, and was counted
void span(gpuprof_span span);
void device(uint32_t device, const char* name, const char* uuid);
void meta(const char* key, const char* value);
bool python(const gpuprof_python_layout& layout);  // false: not connected, or it could not be written
void lost(gpuprof_loss kind, uint64_t count);

// What the recorder wants: gpuprof_segment.options, and the control bits of the moment. Null and 0 when not connected.
[[nodiscard]] const gpuprof_options* options();
[[nodiscard]] uint32_t control();

// The recorder asks for a flush (GPUPROF_CONTROL_FLUSH) and it has not been served.
[[nodiscard]] bool flush_requested();
void flush_served();

// Off the launch path, now and then: an interpreter or libraries may have come into the process.
void look_around();

// At the orderly end of the process. May wait up to 100 ms for the recorder to read what ends with the process.
void finish();

// Of this thread, as the target's pid namespace has it.
[[nodiscard]] uint32_t thread_id();

// After finish() or disable(), in a process that goes on: gives the shared memory back.
void leave_segment();

// CLOCK_MONOTONIC now, ns.
uint64_t now_ns();

// Called in the child after fork(), once state has been reset; null for none.
void on_fork_child(void (*callback)());

}  // namespace gpuprof::injection
