#include "runtime/emit.h"

#include <pthread.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <ctime>

#include "base/atomics.h"
#include "ipc/connect.h"
#include "ipc/names.h"
#include "ipc/ring.h"
#include "nvtx/ranges.h"
#include "python/python.h"
#include "runtime/launch_table.h"
#include "stack/modules.h"
#include "stack/native_walk.h"
#include "stack/stacks.h"
#include "stack/thread_stack.h"

extern "C" void gpuprof_launch_probe_here(uint64_t correlation, uint32_t source, uint32_t range, const void* python);

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
  uint64_t loads = 0;  // of libraries, as of the last look
  void (*fork_callback)() = nullptr;
  bool fork_handler = false;
  char backend[16] = {};
  // Where to connect to; empty: as the environment says.
  char socket[108] = {};
  char token[33] = {};
  uint32_t user = 0;
};
State state;

// One in a page that a forked child gets as zeros, also when the fork system call was made without fork handlers.
const uint32_t always_alive = 1;
const uint32_t* alive = &always_alive;

// constinit keeps the compiler from a guard at each access.
constinit thread_local ThreadState current_thread = {};

// Failing that (an old kernel), children of a bare fork system call are not noticed.
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
  alive = mark;
}

void after_fork_in_child() {
  const KeepErrno keep_errno;
  const uint32_t phase = load_relaxed(&state.phase);
  ThreadState& thread = thread_state();
  reset_looks();
  const bool writing = thread.in_write != 0;  // fork in a signal handler that interrupted us: the write goes on
  const uint32_t guarded = thread.in_guard;
  thread = {};
  thread.in_guard = guarded;
  thread.in_write = writing ? 1 : 0;
  alive = &always_alive;
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
  reset_launches();
  reset_ranges();
  reset_python();
  if (phase == kForked) {
    reset_stacks();
    reset_native_walk();
  } else {
    forget_stacks();
    look_around();  // not at a launch, where a forked child connects
  }
  mark_process();
  Address address = address_of_environment();
  if (state.socket[0] != '\0') {
    address = {state.socket, state.token, state.user};
  }
  Connection connection;
  if (!connect_recorder(state.backend, address, &connection)) {
    store_release(&state.phase, uint32_t{kOff});
    return false;
  }
  state.segment = connection.segment;
  state.source = connection.source;
  store_release(&state.segment->state, uint32_t{GPUPROF_STATE_ACTIVE});
  store_release(&state.phase, uint32_t{kOn});
  return true;
}

// Null unless connected and not switched off. What is mapped in a child of fork belongs to its parent.
gpuprof_segment* open_segment() {
  return load_acquire(&state.phase) == kOn && load_relaxed(alive) != 0 ? state.segment : nullptr;
}

// `phase` is the one to start from.
bool start_as(const char* backend, uint32_t phase) {
  if (load_acquire(&state.phase) != phase || strlen(backend) >= sizeof(state.backend)) {
    return load_acquire(&state.phase) == kOn;
  }
  strcpy(state.backend, backend);
  if (!state.fork_handler) {
    state.fork_handler = pthread_atfork(hold_off_looks, allow_looks, after_fork_in_child) == 0;
  }
  return connect_from(phase);
}

void read_thread(ThreadState& thread) {
  thread.tid = static_cast<uint32_t>(syscall(SYS_gettid));
  prctl(PR_GET_NAME, thread.name);
}

bool is_timed(const ThreadState& thread) {
  return thread.launches % kTimedLaunch == kTimedLaunch - 1;
}

// Where no BPF program listens at the probe: who launched, when, and from where.
bool emit_launch(gpuprof_segment* segment, ThreadState& thread, uint64_t correlation, uint32_t range, uint64_t stack) {
  gpuprof_launch record = {};
  record.header.type = GPUPROF_RECORD_LAUNCH;
  record.correlation = correlation;
  record.time_ns = now_ns();
  record.tid = thread.tid;
  record.range = range;
  memcpy(record.thread, thread.name, sizeof(record.thread));
  record.stack = stack;
  return write_record(segment, &record.header, sizeof(record), nullptr, 0, false);
}

void tell_stack_source(gpuprof_segment* segment, ThreadState& thread, uint64_t correlation, uint32_t range) {
  const void* python = python_thread();
  gpuprof_launch_probe_here(correlation, state.source, range, python);
  if ((load_relaxed(&segment->control) & GPUPROF_CONTROL_LAUNCH_RECORDS) != 0) {
    const bool wanted = (segment->options.flags & GPUPROF_OPTION_STACKS) != 0;
    const uint64_t stack = wanted ? take_stack(segment, thread, python) : 0;
    if (!emit_launch(segment, thread, correlation, range, stack) || (wanted && stack == 0)) {
      add_relaxed(&ring_of(segment, thread).lost[GPUPROF_LOSS_STACK], uint64_t{1});
    }
  }
}

// Each launch for itself, by a generator of its thread's own (xorshift): every n-th launch would fall into step with
// the target's loops, and always hit the same ones.
bool chosen(const gpuprof_segment* segment, ThreadState& thread) {
  const uint32_t share = load_relaxed(&segment->stack_share);
  if (share >= GPUPROF_ALL_STACKS) {
    return true;
  }
  uint32_t random = thread.random;
  if (random == 0) {
    random = (thread.tid * 0x9E3779B9U ^ static_cast<uint32_t>(now_ns())) | 1U;
  }
  random ^= random << 13U;
  random ^= random >> 17U;
  random ^= random << 5U;
  thread.random = random;
  return random >> 16U < share;
}

void note_launch(gpuprof_segment* segment, const ThreadState& thread, uint64_t correlation, uint32_t flags,
                 uint32_t range, uint32_t name) {
  if (flags == 0 && name == 0) {
    forget_launch(correlation);
  } else if (!remember_launch(correlation, {flags, thread.tid, range, name})) {
    add_relaxed(&segment->rings[thread.ring_plus_one - 1].lost[GPUPROF_LOSS_OUT_OF_MEMORY], uint64_t{1});
  }
}

void count(gpuprof_count kind) {
  if (gpuprof_segment* segment = open_segment(); segment != nullptr) {
    add_relaxed(&ring_of(segment, thread_state()).counts[kind], uint64_t{1});
  }
}

// A launch without work of its own, where it was counted as a launch at all.
void count_if_last(gpuprof_count kind, uint64_t correlation) {
  if (thread_state().last_launch == correlation + 1) {
    count(kind);
  }
}

// False: outside of the range that is recorded. Nothing is known of work that comes without its launch.
bool note_of(uint64_t correlation, LaunchNote* note) {
  return (correlation & GPUPROF_CORRELATION_EXEC) != 0 || !find_launch(correlation, note) ||
         (note->flags & kLaunchOutside) == 0;
}

}  // namespace

ThreadState& thread_state() {
  return current_thread;
}

bool start(const char* backend) {
  return start_as(backend, kNotStarted);
}

bool start_attached(const char* backend, const char* socket, const char* token, uint32_t user) {
  const uint32_t phase = load_acquire(&state.phase);  // off: an earlier recording of the process has ended
  if ((phase != kNotStarted && phase != kOff) || strlen(socket) >= sizeof(state.socket) ||
      strlen(token) >= sizeof(state.token)) {
    return false;
  }
  strcpy(state.socket, socket);
  strcpy(state.token, token);
  state.user = user;
  return start_as(backend, phase);
}

// Not unmapped: a thread may be in the middle of a write. It goes on in memory that is nobody's.
void leave_segment() {
  gpuprof_segment* segment = state.segment;
  if (segment != nullptr && load_acquire(&state.phase) == kOff) {
    constexpr int kInPlace = MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE;
    // Where there is no memory, the segment stays.
    static_cast<void>(mmap(segment, GPUPROF_SEGMENT_BYTES, PROT_READ | PROT_WRITE, kInPlace, -1, 0));
  }
}

bool active() {
  if (load_relaxed(alive) == 0) {
    after_fork_in_child();  // of a fork that ran no fork handlers
    return false;           // the library's callback may have decided to do nothing here
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

void launch(uint64_t correlation, bool several, uint32_t name) {
  gpuprof_segment* segment = open_segment();
  if (segment == nullptr) {
    return;
  }
  ThreadState& thread = thread_state();
  gpuprof_ring& ring = ring_of(segment, thread);
  const bool timed = is_timed(thread);
  if (thread.launches % kRefreshThread == 0 || thread.tid == 0) {
    read_thread(thread);
  }
  ++thread.launches;
  const uint64_t begin = timed ? now_ns() : 0;
  if (!in_wanted_range()) {
    thread.last_launch = 0;
    note_launch(segment, thread, correlation, kLaunchOutside, 0, name);
    return;
  }
  add_relaxed(&ring.launches, uint64_t{1});
  thread.last_launch = correlation + 1;
  const uint32_t range = current_range();
  const bool sampled = chosen(segment, thread);
  const uint32_t flags = (sampled ? 0U : uint32_t{kLaunchUnsampled}) | (several ? uint32_t{kLaunchSeveral} : 0U);
  note_launch(segment, thread, correlation, flags, range, name);
  if (sampled) {
    tell_stack_source(segment, thread, correlation, range);
  } else {
    add_relaxed(&ring.counts[GPUPROF_COUNT_UNSAMPLED], uint64_t{1});
  }
  if (timed) {
    // Cut, not left out: a launch that really costs that much (a first stack in cold memory) must not look free.
    const uint64_t spent = now_ns() - begin;
    add_relaxed(&ring.overhead_ns, spent < kMaxTimedNs ? spent : kMaxTimedNs);
    add_relaxed(&ring.overhead_samples, uint64_t{1});
  }
}

uint32_t launch_name(uint64_t correlation) {
  LaunchNote note = {};
  return find_launch(correlation, &note) ? note.name : 0;
}

void launch_captured(uint64_t correlation) {
  count_if_last(GPUPROF_COUNT_CAPTURED, correlation);
}

void launch_failed(uint64_t correlation) {
  count_if_last(GPUPROF_COUNT_FAILED, correlation);
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
  const bool outside = host && !in_wanted_range();  // a graph may be captured before the range and launched inside
  if (host) {
    note_launch(segment, thread, correlation, outside ? uint32_t{kLaunchOutside} : 0U, 0, 0);
  }
  if (!outside) {
    tell_stack_source(segment, thread, correlation, current_range());
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
  LaunchNote note = {};
  if (!note_of(op.correlation, &note)) {
    count(GPUPROF_COUNT_OUTSIDE);
    return;
  }
  if ((note.flags & kLaunchUnsampled) != 0) {
    op.flags |= GPUPROF_GPU_OP_UNSAMPLED;
    op.tid = note.tid;
    op.range = note.range;
  }
  if ((note.flags & kLaunchSeveral) != 0) {
    op.flags |= GPUPROF_GPU_OP_MORE;
  }
  count(GPUPROF_COUNT_GPU_OPS);
  op.header.type = GPUPROF_RECORD_GPU_OP;
  write_record(segment, &op.header, sizeof(op), nullptr, 0, may_wait);
}

void host_op(gpuprof_host_op op) {
  LaunchNote note = {};
  gpuprof_segment* segment = open_segment();
  if (segment != nullptr && note_of(op.correlation, &note)) {
    op.header.type = GPUPROF_RECORD_HOST_OP;
    write_record(segment, &op.header, sizeof(op), nullptr, 0, false);
  }
}

void graph_launch(gpuprof_graph_launch launch) {
  LaunchNote note = {};
  if (find_launch(launch.correlation, &note)) {
    launch.flags = ((note.flags & kLaunchUnsampled) != 0 ? GPUPROF_GPU_OP_UNSAMPLED : 0U) |
                   ((note.flags & kLaunchOutside) != 0 ? GPUPROF_GPU_OP_OUTSIDE : 0U);
    launch.tid = note.tid;
    launch.range = note.range;
  }
  launch.time_ns = now_ns();
  launch.header.type = GPUPROF_RECORD_GRAPH_LAUNCH;
  if (gpuprof_segment* segment = open_segment(); segment != nullptr) {
    write_record(segment, &launch.header, sizeof(launch), nullptr, 0, false);
  }
}

void graph_node(gpuprof_graph_node node) {
  node.time_ns = now_ns();
  node.header.type = GPUPROF_RECORD_GRAPH_NODE;
  if (gpuprof_segment* segment = open_segment(); segment != nullptr) {
    write_record(segment, &node.header, sizeof(node), nullptr, 0, false);
  }
}

bool range(gpuprof_range range) {
  gpuprof_segment* segment = open_segment();
  range.header.type = GPUPROF_RECORD_RANGE;
  return segment != nullptr && write_record(segment, &range.header, sizeof(range), nullptr, 0, false);
}

void span(gpuprof_span span) {
  if (gpuprof_segment* segment = open_segment(); segment != nullptr) {
    span.header.type = GPUPROF_RECORD_SPAN;
    write_record(segment, &span.header, sizeof(span), nullptr, 0, false);
  }
}

void call(gpuprof_call call) {
  gpuprof_segment* segment = open_segment();
  if (segment != nullptr && thread_state().last_launch == call.correlation + 1) {
    call.header.type = GPUPROF_RECORD_CALL;
    write_record(segment, &call.header, sizeof(call), nullptr, 0, false);
  }
}

void device(uint32_t device, const char* name, const char* uuid) {
  gpuprof_device record = {};
  record.header.type = GPUPROF_RECORD_DEVICE;
  record.device = device;
  record.name_id = name_id(name);
  record.uuid_id = name_id(uuid);
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

bool python(const gpuprof_python_layout& layout) {
  gpuprof_segment* segment = open_segment();
  gpuprof_python record = {};
  record.header.type = GPUPROF_RECORD_PYTHON;
  record.layout = layout;
  return segment != nullptr && write_record(segment, &record.header, sizeof(record), nullptr, 0, false);
}

void lost(gpuprof_loss kind, uint64_t count) {
  gpuprof_segment* segment = open_segment();
  if (segment != nullptr && count != 0) {
    add_relaxed(&ring_of(segment, thread_state()).lost[kind], count);
  }
}

const gpuprof_options* options() {
  const gpuprof_segment* segment = open_segment();
  return segment == nullptr ? nullptr : &segment->options;
}

uint32_t control() {
  const gpuprof_segment* segment = open_segment();
  return segment == nullptr ? 0 : load_relaxed(&segment->control);
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
  // By a BPF program, or by us: in both cases the recorder needs our mappings to explain them.
  const bool stacks = (load_relaxed(&segment->control) & GPUPROF_CONTROL_LAUNCH_RECORDS) == 0 ||
                      (segment->options.flags & GPUPROF_OPTION_STACKS) != 0;
  const bool silent = recorder_silent();
  if (swap_if(&state.phase, kOn, kOff)) {
    store_release(&segment->state, uint32_t{GPUPROF_STATE_FINISHED});
    if (launches > 0 && stacks && !silent) {
      wait_for_recorder(segment);
    }
  }
}

// One that reads our mappings itself should do so soon.
static void tell_loads() {
  const uint64_t loads = count_loads();
  gpuprof_segment* segment = open_segment();
  gpuprof_mappings record = {};
  record.header.type = GPUPROF_RECORD_MAPPINGS;
  record.loads = loads;
  if (segment == nullptr || load_relaxed(&state.loads) == loads ||
      write_record(segment, &record.header, sizeof(record), nullptr, 0, false)) {
    store_relaxed(&state.loads, loads);
  }
}

void look_around() {
  if (!begin_look()) {
    return;
  }
  find_main_stack();
  refresh_modules();
  find_python();
  tell_loads();
  end_look();
}

uint32_t thread_id() {
  ThreadState& thread = thread_state();
  if (thread.tid == 0) {
    read_thread(thread);
  }
  return thread.tid;
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
