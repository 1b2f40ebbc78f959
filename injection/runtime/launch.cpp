#include "runtime/launch.h"

#include <cstring>

#include "base/atomics.h"
#include "base/monotonic_clock.h"
#include "base/thread_state.h"
#include "ipc/emit.h"
#include "ipc/ring.h"
#include "nvtx/ranges.h"
#include "python/python.h"
#include "runtime/launch_notes.h"
#include "stack/stacks.h"

extern "C" void gpuprof_launch_probe_here(uint64_t correlation, uint32_t source, uint32_t range, const void* python);

namespace gpuprof::injection {
namespace {

constexpr uint64_t kMaxTimedNs = 100'000;
constexpr uint32_t kTimedLaunch = 64;      // one launch in this many is timed
constexpr uint32_t kRefreshThread = 1024;  // number of launches between two reads of the thread's name

uint64_t last_correlation = 0;

bool is_timed(const ThreadState& thread) {
  return thread.launches % kTimedLaunch == kTimedLaunch - 1;
}

// Hides a value from the compiler. If a branch before and one after the walk depended on the same value, the compiler
// could make two calls of the walk. Launches from one place in the program would then have two different stacks.
bool opaque(bool value) {
  asm("" : "+r"(value));
  return value;
}

// Emits a LAUNCH record, unless a BPF program is attached to the probe.
bool emit_launch(gpuprof_segment* segment, ThreadState& thread, uint64_t correlation, uint32_t range, uint64_t stack) {
  gpuprof_launch record = {};
  record.header.type = GPUPROF_RECORD_LAUNCH;
  record.correlation = correlation;
  record.time_ns = now_ns();
  thread.launched_ns = record.time_ns;
  record.tid = thread.tid;
  record.range = range;
  memcpy(record.thread, thread.name, sizeof(record.thread));
  record.stack = stack;
  return write_record(segment, &record.header, sizeof(record), nullptr, 0, false);
}

void emit_launch_stack(gpuprof_segment* segment, ThreadState& thread, uint64_t correlation, uint32_t range) {
  const void* python = python_thread();
  gpuprof_launch_probe_here(correlation, process_state.source, range, python);
  if ((load_relaxed(&segment->control) & GPUPROF_CONTROL_LAUNCH_RECORDS) != 0) {
    const bool wanted = (segment->options.flags & GPUPROF_OPTION_STACKS) != 0;
    const uint64_t stack = wanted ? take_stack(segment, thread, python) : 0;
    if (!emit_launch(segment, thread, correlation, range, stack) || (wanted && stack == 0)) {
      add_relaxed(&ring_of(segment, thread).lost[GPUPROF_LOSS_STACK], uint64_t{1});
    }
  }
}

void note_launch(gpuprof_segment* segment, const ThreadState& thread, uint64_t correlation, uint32_t flags,
                 uint32_t name) {
  if (flags == 0 && name == 0) {
    forget_launch(correlation);
  } else if (!remember_launch(correlation, {flags, name})) {
    add_relaxed(&segment->rings[thread.ring_plus_one - 1].lost[GPUPROF_LOSS_OUT_OF_MEMORY], uint64_t{1});
  }
}

}  // namespace

uint64_t begin_timing() {
  return is_timed(thread_state()) ? now_ns() : 0;
}

void add_overhead(uint64_t ns) {
  if (gpuprof_segment* segment = open_segment(); segment != nullptr) {
    add_relaxed(&ring_of(segment, thread_state()).overhead_ns, ns < kMaxTimedNs ? ns : kMaxTimedNs);
  }
}

void add_handover(uint64_t ns) {
  if (gpuprof_segment* segment = open_segment(); segment != nullptr) {
    add_relaxed(&ring_of(segment, thread_state()).handover_ns, ns);
  }
}

bool launch(uint64_t correlation, bool several, uint32_t name, uint64_t begun_ns) {
  ThreadState& thread = thread_state();
  thread.launched_ns = 0;
  gpuprof_segment* segment = open_segment();
  if (segment == nullptr) {
    return false;
  }
  gpuprof_ring& ring = ring_of(segment, thread);
  const bool timed = is_timed(thread);
  if (thread.launches % kRefreshThread == 0 || thread.tid == 0) {
    read_thread(thread);
  }
  ++thread.launches;
  const uint64_t begin = timed && begun_ns == 0 ? now_ns() : begun_ns;
  if (!in_wanted_range()) {
    thread.last_launch = 0;
    note_launch(segment, thread, correlation, kLaunchOutside, name);
    return false;
  }
  add_relaxed(&ring.launches, uint64_t{1});
  thread.last_launch = correlation + 1;
  const uint32_t range = current_range(true);
  note_launch(segment, thread, correlation, several ? uint32_t{kLaunchSeveral} : 0U, name);
  emit_launch_stack(segment, thread, correlation, range);
  if (thread.launched_ns == 0) {  // no LAUNCH record was sent
    thread.launched_ns = now_ns();
  }
  if (opaque(timed)) {
    // A long time is clamped, not ignored: a launch that really costs this much (its first stack reads cold memory)
    // must not appear free.
    const uint64_t spent = now_ns() - begin;
    add_relaxed(&ring.overhead_ns, spent < kMaxTimedNs ? spent : kMaxTimedNs);
    add_relaxed(&ring.overhead_samples, uint64_t{1});
  }
  return timed;
}

uint64_t launched_ns() {
  return thread_state().launched_ns;
}

uint32_t launch_name(uint64_t correlation) {
  LaunchNote note = {};
  return find_launch(correlation, &note) ? note.name : 0;
}

bool is_last_launch(uint64_t correlation) {
  return thread_state().last_launch == correlation + 1;
}

void launch_captured(uint64_t correlation) {
  if (is_last_launch(correlation)) {
    count(GPUPROF_COUNT_CAPTURED);
  }
}

void stack_here(uint64_t correlation) {
  gpuprof_segment* segment = open_segment();
  if (segment == nullptr) {
    return;
  }
  ThreadState& thread = thread_state();
  ring_of(segment, thread);
  if (thread.tid == 0) {
    read_thread(thread);
  }
  const bool host = (correlation & GPUPROF_CORRELATION_HOST) != 0;
  // A graph node always gets a stack. Its graph may be captured before the wanted NVTX range begins, and launched
  // inside it.
  const bool outside = host && !in_wanted_range();
  if (host) {
    note_launch(segment, thread, correlation, outside ? uint32_t{kLaunchOutside} : 0U, 0);
  }
  if (!outside) {
    emit_launch_stack(segment, thread, correlation, current_range(false));
  }
}

uint64_t stack_of_host_call() {
  const uint64_t correlation = GPUPROF_CORRELATION_HOST | next_correlation();
  stack_here(correlation);
  return correlation;
}

uint64_t next_correlation() {
  return add_relaxed(&last_correlation, uint64_t{1}) + 1;
}

}  // namespace gpuprof::injection
