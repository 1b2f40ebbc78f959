#include "common/emit.h"

#include <pthread.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <ctime>

#include "common/atomics.h"
#include "common/connect.h"
#include "common/names.h"
#include "common/ring.h"

extern "C" void gpuprof_launch_probe_here(uint64_t correlation, uint32_t source);

namespace gpuprof::injection {
namespace {

constexpr uint64_t kMaxTimedNs = 100'000;
constexpr uint64_t kSilentNs = 10'000'000'000;
constexpr uint32_t kTimedLaunch = 64;      // one launch in so many has its own cost measured
constexpr uint32_t kRefreshThread = 1024;  // launches between looks at the thread's name

enum Phase : uint32_t {
  kNotStarted = 0,
  kConnecting = 1,
  kOn = 2,
  kOff = 3,
  kForked = 4,  // in a child whose parent was on: connect at the first launch
};

// One a process: the vendors' callbacks come without a context of ours.
struct State {
  uint32_t phase = kNotStarted;
  uint32_t source = 0;
  gpuprof_segment* segment = nullptr;
  uint64_t last_correlation = 0;
  void (*fork_callback)() = nullptr;
  bool fork_handler = false;
  char backend[16] = {};
};
State state;

// constinit keeps the compiler from a guard at each access.
constinit thread_local ThreadState current_thread = {};

void after_fork_in_child() {
  const KeepErrno keep_errno;
  const uint32_t phase = load_relaxed(&state.phase);
  ThreadState& thread = thread_state();
  const bool writing = thread.in_write != 0;  // fork in a signal handler that interrupted us: the write goes on
  thread = {};
  thread.in_write = writing ? 1 : 0;
  if (phase == kOn || phase == kConnecting) {
    if (state.segment != nullptr && !writing) {
      munmap(state.segment, GPUPROF_SEGMENT_BYTES);  // it belongs to the parent
    }
    state.segment = nullptr;
    store_relaxed(&state.phase, uint32_t{kForked});
  }
  if (state.fork_callback != nullptr) {
    state.fork_callback();  // whatever the phase: a library's exit handler must know that this is a child
  }
}

// From `phase` to on or off; for the one thread that gets here first.
bool connect_from(uint32_t phase) {
  if (!swap_if(&state.phase, phase, kConnecting)) {
    return false;
  }
  reset_rings();
  reset_names();
  Connection connection;
  if (!connect_recorder(state.backend, &connection)) {
    store_release(&state.phase, uint32_t{kOff});
    return false;
  }
  state.segment = connection.segment;
  state.source = connection.source;
  store_release(&state.segment->state, uint32_t{GPUPROF_STATE_ACTIVE});
  store_release(&state.phase, uint32_t{kOn});
  return true;
}

// Null unless connected and not switched off.
gpuprof_segment* open_segment() {
  return load_acquire(&state.phase) == kOn ? state.segment : nullptr;
}

void read_thread(ThreadState& thread) {
  thread.tid = static_cast<uint32_t>(syscall(SYS_gettid));
  prctl(PR_GET_NAME, thread.name);
}

bool is_timed(const ThreadState& thread) {
  return thread.launches % kTimedLaunch == kTimedLaunch - 1;
}

void emit_launch(gpuprof_segment* segment, const ThreadState& thread, uint64_t correlation) {
  gpuprof_launch record = {};
  record.header.type = GPUPROF_RECORD_LAUNCH;
  record.correlation = correlation;
  record.tid = thread.tid;
  memcpy(record.thread, thread.name, sizeof(record.thread));
  write_record(segment, &record.header, sizeof(record), nullptr, 0, false);
}

}  // namespace

ThreadState& thread_state() {
  return current_thread;
}

bool start(const char* backend) {
  if (load_acquire(&state.phase) != kNotStarted || strlen(backend) >= sizeof(state.backend)) {
    return load_acquire(&state.phase) == kOn;
  }
  strcpy(state.backend, backend);
  if (!state.fork_handler) {
    state.fork_handler = pthread_atfork(nullptr, nullptr, after_fork_in_child) == 0;
  }
  return connect_from(kNotStarted);
}

bool active() {
  const uint32_t phase = load_acquire(&state.phase);
  if (phase == kForked) {
    if (!connect_from(kForked)) {
      return false;
    }
  } else if (phase != kOn) {
    return false;
  }
  return (load_relaxed(&state.segment->control) & GPUPROF_CONTROL_ENABLED) != 0;
}

uint32_t source() {
  return state.source;
}

void disable(const char* reason) {
  gpuprof_segment* segment = open_segment();
  if (segment == nullptr || !swap_if(&state.phase, kOn, kOff)) {
    return;
  }
  const size_t length = strnlen(reason, sizeof(segment->reason) - 1);
  memcpy(segment->reason, reason, length);
  segment->reason[length] = '\0';
  store_release(&segment->state, uint32_t{GPUPROF_STATE_DISABLED});
}

bool recorder_silent() {
  const gpuprof_segment* segment = open_segment();
  if (segment == nullptr) {
    return false;
  }
  const uint64_t beat = load_relaxed(&segment->recorder_beat_ns);
  const uint64_t now = now_ns();
  return beat < now && now - beat > kSilentNs;
}

bool next_launch_timed() {
  return is_timed(thread_state());
}

void add_overhead(uint64_t ns) {
  if (gpuprof_segment* segment = open_segment(); segment != nullptr) {
    add_relaxed(&ring_of(segment, thread_state()).overhead_ns, ns < kMaxTimedNs ? ns : kMaxTimedNs);
  }
}

void launch(uint64_t correlation) {
  gpuprof_segment* segment = open_segment();
  if (segment == nullptr) {
    return;
  }
  ThreadState& thread = thread_state();
  gpuprof_ring& ring = ring_of(segment, thread);
  const bool timed = is_timed(thread);
  const bool refresh = thread.launches % kRefreshThread == 0;
  ++thread.launches;
  const uint64_t begin = timed ? now_ns() : 0;
  add_relaxed(&ring.launches, uint64_t{1});
  gpuprof_launch_probe_here(correlation, state.source);
  if ((load_relaxed(&segment->control) & GPUPROF_CONTROL_LAUNCH_RECORDS) != 0) {
    if (refresh || thread.tid == 0) {
      read_thread(thread);
    }
    emit_launch(segment, thread, correlation);
  }
  if (timed) {
    // Cut, not left out: a launch that really costs that much (a first stack in cold memory) must not look free.
    const uint64_t spent = now_ns() - begin;
    add_relaxed(&ring.overhead_ns, spent < kMaxTimedNs ? spent : kMaxTimedNs);
    add_relaxed(&ring.overhead_samples, uint64_t{1});
  }
}

uint64_t next_correlation() {
  return add_relaxed(&state.last_correlation, uint64_t{1}) + 1;
}

uint32_t name_id(const char* text) {
  return text == nullptr ? 0 : name_id(text, strlen(text));
}

uint32_t name_id(const char* text, size_t length) {
  gpuprof_segment* segment = open_segment();
  if (segment == nullptr || text == nullptr || length == 0) {
    return 0;
  }
  return intern(segment, text, length);
}

void gpu_op(gpuprof_gpu_op op, bool may_wait) {
  gpuprof_segment* segment = open_segment();
  if (segment == nullptr) {
    return;
  }
  op.header.type = GPUPROF_RECORD_GPU_OP;
  write_record(segment, &op.header, sizeof(op), nullptr, 0, may_wait);
}

void device(uint32_t device, const char* name) {
  gpuprof_device record = {};
  record.header.type = GPUPROF_RECORD_DEVICE;
  record.device = device;
  record.name_id = name_id(name);
  if (gpuprof_segment* segment = open_segment(); segment != nullptr) {
    write_record(segment, &record.header, sizeof(record), nullptr, 0, false);
  }
}

void meta(const char* key, const char* value) {
  char text[1024];
  gpuprof_segment* segment = open_segment();
  const int length = snprintf(text, sizeof(text), "%s=%s", key, value);
  if (segment == nullptr || length < 0 || length >= static_cast<int>(sizeof(text))) {
    return;
  }
  alignas(gpuprof_meta) uint8_t head[sizeof(gpuprof_meta)] = {};
  auto* record = reinterpret_cast<gpuprof_meta*>(head);
  record->header.type = GPUPROF_RECORD_META;
  record->length = static_cast<uint32_t>(length);
  write_record(segment, &record->header, sizeof(gpuprof_meta), text, record->length, false);
}

void lost(gpuprof_loss kind, uint64_t count) {
  gpuprof_segment* segment = open_segment();
  if (segment != nullptr && count != 0) {
    add_relaxed(&ring_of(segment, thread_state()).lost[kind], count);
  }
}

bool flush_requested() {
  const gpuprof_segment* segment = open_segment();
  return segment != nullptr && (load_acquire(&segment->control) & GPUPROF_CONTROL_FLUSH) != 0 &&
         load_relaxed(&segment->flushed) == 0;
}

void flush_served() {
  if (gpuprof_segment* segment = open_segment(); segment != nullptr) {
    store_release(&segment->flushed, 1U);
  }
}

// The recorder reads from us while we are still there: a stack's mappings, which end with the process, are known two
// beats from now at the latest.
static void wait_for_recorder(const gpuprof_segment* segment) {
  constexpr uint64_t kMaxWaitNs = 100'000'000;
  constexpr int kBeats = 2;
  const uint64_t begin = now_ns();
  uint64_t last = load_relaxed(&segment->recorder_beat_ns);
  for (int beats = 0; beats < kBeats && now_ns() - begin < kMaxWaitNs;) {
    const timespec pause = {0, 1'000'000};
    nanosleep(&pause, nullptr);
    const uint64_t beat = load_relaxed(&segment->recorder_beat_ns);
    beats += beat != last ? 1 : 0;
    last = beat;
  }
}

void finish() {
  gpuprof_segment* segment = open_segment();
  if (segment == nullptr) {
    return;
  }
  uint64_t launches = 0;
  for (const gpuprof_ring& ring : segment->rings) {
    launches += load_relaxed(&ring.launches);
  }
  const bool stacks_elsewhere = (load_relaxed(&segment->control) & GPUPROF_CONTROL_LAUNCH_RECORDS) == 0;
  const bool silent = recorder_silent();
  if (swap_if(&state.phase, kOn, kOff)) {
    store_release(&segment->state, uint32_t{GPUPROF_STATE_FINISHED});
    if (launches > 0 && stacks_elsewhere && !silent) {
      wait_for_recorder(segment);
    }
  }
}

uint64_t now_ns() {
  timespec now = {};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1000000000ULL + static_cast<uint64_t>(now.tv_nsec);
}

void on_fork_child(void (*callback)()) {
  state.fork_callback = callback;
}

}  // namespace gpuprof::injection
