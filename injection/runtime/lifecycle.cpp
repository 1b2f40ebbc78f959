#include "runtime/lifecycle.h"

#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <ctime>

#include "base/keep_errno.h"
#include "base/monotonic_clock.h"
#include "base/thread_state.h"
#include "ipc/connect.h"
#include "ipc/process_state.h"
#include "ipc/ring.h"
#include "python/python.h"
#include "runtime/connection_resets.h"
#include "runtime/cpu_samples.h"
#include "runtime/module_scan.h"

namespace gpuprof::injection {
namespace {

ProcessState& state = process_state;

struct RecorderCheck {
  uint32_t calls;
  bool silent;
};
constinit thread_local RecorderCheck recorder_check = {};

// A copy of the recorder's address, because the target may change its environment at any time.
struct KeptAddress {
  char socket[sizeof(state.socket)];
  char token[sizeof(state.token)];
  int64_t user;
};
constinit KeptAddress kept_address = {};

// Number of launches whose stacks the recorder can name, because the process has waited for it.
uint64_t launches_waited_for = 0;

void keep_address(const Address& address) {
  snprintf(kept_address.socket, sizeof(kept_address.socket), "%s", address.socket);
  snprintf(kept_address.token, sizeof(kept_address.token), "%s", address.token);
  kept_address.user = address.user;
}

// Maps the page by which a child notices a fork. Without MADV_WIPEONFORK (old Linux), a child does not notice a fork
// made by a raw system call.
void mark_process() {
  const auto bytes = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  void* page = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (page == MAP_FAILED) {
    return;
  }
  if (madvise(page, bytes, MADV_WIPEONFORK) != 0) {
    munmap(page, bytes);
    return;
  }
  auto* mark = static_cast<uint32_t*>(page);
  *mark = 1;
  state.alive = mark;
}

void after_fork_in_child() {
  const KeepErrno keep_errno;
  const uint32_t phase = load_relaxed(&state.phase);
  ThreadState& thread = thread_state();
  reset_module_scans();
  reset_thread(thread);
  state.alive = &always_alive;
  if (phase == kOn || phase == kConnecting) {
    if (state.segment != nullptr && thread.in_write == 0) {
      munmap(state.segment, GPUPROF_SEGMENT_BYTES);  // the segment belongs to the parent
    }
    state.segment = nullptr;
    store_relaxed(&state.phase, uint32_t{kForked});
  }
  if (state.fork_callback != nullptr) {
    state.fork_callback();  // called even if not connected, because the exit handler must know that this is a child
  }
}

// Changes the phase from `phase` to on or off. Only the first thread that calls this connects.
bool connect_from(uint32_t phase) {
  if (!swap_if(&state.phase, phase, kConnecting)) {
    return false;
  }
  reset_for_connection(phase == kForked);
  mark_process();
  Address address = address_of_environment();
  if (state.socket[0] != '\0') {
    address = {state.socket, state.token, state.user};
  }
  Connection connection;
  if (!connect_recorder({state.backend, python_layout()}, address, &connection)) {
    store_release(&state.phase, uint32_t{kOff});
    return false;
  }
  keep_address(address);
  state.segment = connection.segment;
  state.source = connection.source;
  launches_waited_for = 0;
  store_release(&state.segment->state, uint32_t{GPUPROF_STATE_ACTIVE});
  store_release(&state.phase, uint32_t{kOn});
  if (phase == kForked) {
    start_cpu_samples();
  }
  return true;
}

bool start_as(const char* backend, uint32_t phase) {
  if (load_acquire(&state.phase) != phase || strlen(backend) >= sizeof(state.backend)) {
    return load_acquire(&state.phase) == kOn;
  }
  strcpy(state.backend, backend);
  if (!state.fork_handler) {
    state.fork_handler = pthread_atfork(hold_off_module_scans, allow_module_scans, after_fork_in_child) == 0;
  }
  return connect_from(phase);
}

// Waits for two heartbeats, so that the recorder reads the mappings for the process's stacks before the process ends.
void wait_for_recorder(const gpuprof_segment* segment) {
  constexpr int kHeartbeats = 2;
  constexpr uint64_t kMaxWaitNs = 5 * GPUPROF_POLL_NS;
  static_assert(kMaxWaitNs > kHeartbeats * GPUPROF_POLL_NS);
  const uint64_t begin = now_ns();
  uint64_t last = load_relaxed(&segment->heartbeat_ns);
  for (int seen = 0; seen < kHeartbeats && now_ns() - begin < kMaxWaitNs;) {
    const timespec pause = {0, 1'000'000};
    nanosleep(&pause, nullptr);
    const uint64_t heartbeat = load_relaxed(&segment->heartbeat_ns);
    seen += heartbeat != last ? 1 : 0;
    last = heartbeat;
  }
}

// Returns whether stacks of this connection were taken since the last call, by BPF or in the process. If so, the
// recorder needs the process's mappings.
bool has_new_stacks(const gpuprof_segment* segment) {
  uint64_t launches = 0;
  for (const gpuprof_ring& ring : segment->rings) {
    launches += load_relaxed(&ring.launches);
  }
  const bool more = launches > launches_waited_for;
  launches_waited_for = launches;
  return more && ((load_relaxed(&segment->control) & GPUPROF_CONTROL_LAUNCH_RECORDS) == 0 ||
                  (segment->options.flags & GPUPROF_OPTION_STACKS) != 0);
}

}  // namespace

bool start(const char* backend) {
  return start_as(backend, kNotStarted);
}

bool start_attached(const char* backend, const char* socket, const char* token, uint32_t user) {
  const uint32_t phase = load_acquire(&state.phase);  // kOff if an earlier recording of the process has ended
  if ((phase != kNotStarted && phase != kOff) || strlen(socket) >= sizeof(state.socket) ||
      strlen(token) >= sizeof(state.token)) {
    return false;
  }
  strcpy(state.socket, socket);
  strcpy(state.token, token);
  state.user = user;
  return start_as(backend, phase);
}

bool active() {
  if (load_relaxed(state.alive) == 0) {
    after_fork_in_child();  // a fork by a raw system call ran no fork handlers
    return false;           // the vendor's fork callback may have disabled recording here
  }
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

Address recorder_address() {
  return {kept_address.socket, kept_address.token, kept_address.user};
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
  const uint64_t heartbeat = load_relaxed(&segment->heartbeat_ns);
  const uint64_t now = now_ns();
  return heartbeat < now && now - heartbeat > GPUPROF_RECORDER_GONE_NS;
}

bool recording() {
  if (!active()) {
    return false;
  }
  RecorderCheck& mine = recorder_check;
  if (mine.calls++ % 64 == 0) {
    mine.silent = recorder_silent();
  }
  return !mine.silent;
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

void finish() {
  gpuprof_segment* segment = open_segment();
  if (segment == nullptr) {
    return;
  }
  const bool needed = has_new_stacks(segment) && !recorder_silent();
  if (swap_if(&state.phase, kOn, kOff)) {
    store_release(&segment->state, uint32_t{GPUPROF_STATE_FINISHED});
    if (needed) {
      wait_for_recorder(segment);
    }
  }
}

bool ended() {
  // leave_segment() has cleared the segment of a process that was detached from.
  return load_acquire(&state.phase) == kOff && load_relaxed(state.alive) != 0 && state.segment != nullptr &&
         load_relaxed(&state.segment->state) == GPUPROF_STATE_FINISHED;
}

void lost_after_end(uint64_t work) {
  if (ended()) {
    add_relaxed(&ring_of(state.segment, thread_state()).lost[GPUPROF_LOSS_UNFINISHED], work);
  }
}

void finish_so_far() {
  if (gpuprof_segment* segment = open_segment(); segment != nullptr) {
    store_release(&segment->state, uint32_t{GPUPROF_STATE_FINISHED});
    if (has_new_stacks(segment) && !recorder_silent()) {
      wait_for_recorder(segment);
    }
  }
}

// Replaces the segment with private memory. Does not unmap it, because a thread may be in the middle of a write.
void leave_segment() {
  gpuprof_segment* segment = state.segment;
  if (segment != nullptr && load_acquire(&state.phase) == kOff) {
    constexpr int kInPlace = MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE;
    static_cast<void>(mmap(segment, GPUPROF_SEGMENT_BYTES, PROT_READ | PROT_WRITE, kInPlace, -1, 0));
  }
}

void on_fork_child(void (*callback)()) {
  state.fork_callback = callback;
}

}  // namespace gpuprof::injection
