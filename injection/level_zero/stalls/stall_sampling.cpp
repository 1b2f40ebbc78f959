#include "level_zero/stalls/stall_sampling.h"

#include <pthread.h>
#include <sys/mman.h>
#include <sys/prctl.h>

#include <cstdio>
#include <ctime>

#include "base/atomics.h"
#include "base/guard.h"
#include "base/monotonic_clock.h"
#include "base/text_arena.h"
#include "ipc/emit.h"
#include "level_zero/devices.h"
#include "level_zero/stalls/sampled_device.h"
#include "runtime/lifecycle.h"
#include "runtime/service_thread.h"

namespace gpuprof::injection::level_zero {
namespace {

constexpr char kThreadName[] = "gpuprof-stalls";
constexpr uint64_t kMillisecond = 1000000;
constexpr uint64_t kPaceNs = 50 * kMillisecond;
// If this many successive polls find no heartbeat of the recorder, the streams are closed. One poll is not enough:
// after Ctrl-Z, the recorder may resume later than the target.
constexpr uint32_t kSilentPolls = 3;
constexpr uint64_t kFlushWaitNs = 300 * kMillisecond;
constexpr uint64_t kEndWaitNs = 1000 * kMillisecond;
constexpr uint32_t kMaxStreams = 64;

enum class Stage : uint8_t { none, running, ending, ended };

struct ReaderMemory {
  StallBuffers read;
  StallSums sums;
};

struct Sampling {
  uint32_t wanted;      // atomic
  uint32_t table_lock;  // held while a thread takes a table entry
  MetricsApi api;
  uint64_t last_call_ns;  // Atomic. The driver must not be called after this time. 0: no limit.
  // Used only by the reader thread:
  uint32_t silent_polls;
  // Protected by the mutex:
  Stage stage;
  uint32_t asked;   // number of reads that other threads have requested
  uint32_t served;  // number of requested reads that are complete
  // Used only by the reader thread:
  ReaderMemory* memory;
  StallWork work;
};

constinit Sampling sampling = {};
SampledDevice sampled[kMaxStreams] = {};
pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
pthread_cond_t changed;
bool changed_made = false;

// ---- the reader thread

// Returns false after last_call_ns. Streams that are then still open are left to the driver.
bool may_call() {
  const uint64_t last = load_relaxed(&sampling.last_call_ns);
  return last == 0 || now_ns() < last;
}

void read_streams() {
  for (SampledDevice& one : sampled) {
    if (load_acquire(&one.state) == kOn && may_call()) {
      read_stream(one, &sampling.work);
    }
  }
}

// Closes the streams while the recorder is silent. It may never return, and the target must not pay for samples that
// nobody reads.
void pause_streams() {
  for (SampledDevice& one : sampled) {
    if (load_acquire(&one.state) == kOn && !one.lost && may_call()) {
      pause_stream(one, &sampling.work);
    }
  }
}

void close_streams() {
  for (SampledDevice& one : sampled) {
    if (load_acquire(&one.state) == kOn && may_call()) {
      one.stream.close(sampling.api);
      store_release(&one.state, uint32_t{kRefused});
    }
  }
}

void report_counts() {
  uint64_t streams = 0;
  uint64_t malformed = 0;
  for (const SampledDevice& one : sampled) {
    const uint32_t state = load_acquire(&one.state);
    streams += state == kOn ? 1 : 0;
    malformed += state == kOn || state == kRefused ? one.windows.malformed() : 0;
    if (state == kOn) {
      meta("level_zero.stalls.period_ns", one.stream.period_ns());
    }
  }
  meta("level_zero.stalls.streams", streams);
  meta("level_zero.stalls.drops", sampling.work.drops);
  meta("level_zero.stalls.reopened", sampling.work.reopened);
  meta("level_zero.stalls.malformed", malformed);
}

// Waits until the next read is due. Returns true if the thread must end.
bool wait_for_next_read() {
  pthread_mutex_lock(&mutex);
  const uint64_t until = now_ns() + kPaceNs;
  const timespec deadline = to_monotonic(until);
  while (sampling.stage == Stage::running && sampling.asked == sampling.served && now_ns() < until) {
    pthread_cond_timedwait(&changed, &mutex, &deadline);
  }
  const bool ending = sampling.stage != Stage::running;
  pthread_mutex_unlock(&mutex);
  return ending;
}

void* run(void* /*unused*/) {
  prctl(PR_SET_NAME, kThreadName);
  const Guard guard;  // callbacks must ignore this thread's own calls
  bool ending = false;
  while (!ending) {
    ending = wait_for_next_read();
    pthread_mutex_lock(&mutex);
    const uint32_t asked = sampling.asked;
    pthread_mutex_unlock(&mutex);
    ending = ending || options() == nullptr;
    sampling.silent_polls = recorder_silent() ? sampling.silent_polls + 1 : 0;
    if (sampling.silent_polls == 0) {
      read_streams();
    } else if (sampling.silent_polls >= kSilentPolls) {
      pause_streams();
    }
    pthread_mutex_lock(&mutex);
    sampling.served = asked;
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&mutex);
  }
  report_counts();
  close_streams();
  munmap(sampling.memory, sizeof(ReaderMemory));
  sampling.memory = nullptr;
  pthread_mutex_lock(&mutex);
  sampling.stage = Stage::ended;
  pthread_cond_broadcast(&changed);
  pthread_mutex_unlock(&mutex);
  return nullptr;
}

// ---- called in the target's threads

// Starts the reader thread if needed. Needs the table's lock.
bool start_reader() {
  pthread_mutex_lock(&mutex);
  const Stage stage = sampling.stage;
  pthread_mutex_unlock(&mutex);
  if (stage != Stage::none) {
    return stage == Stage::running;
  }
  sampling.memory = static_cast<ReaderMemory*>(map_memory(sizeof(ReaderMemory)));
  if (sampling.memory == nullptr) {
    lost(GPUPROF_LOSS_OUT_OF_MEMORY, 1);
    return false;
  }
  sampling.work = {&sampling.api, &sampling.memory->read, &sampling.memory->sums, may_call, 0, 0};
  sampling.stage = Stage::running;
  if (!start_thread(run)) {
    sampling.stage = Stage::none;
    munmap(sampling.memory, sizeof(ReaderMemory));
    return false;
  }
  return true;
}

// Takes a free entry and sets it to kOpening. Returns null if the device already has an entry or the table is full.
SampledDevice* take_place(uint32_t device) {
  if (!try_lock_long(&sampling.table_lock)) {
    report_off("another thread took too long to start sampling", device);
    return nullptr;
  }
  SampledDevice* free = nullptr;
  for (SampledDevice& one : sampled) {
    const uint32_t state = load_acquire(&one.state);
    if (state != kFree && one.device == device) {
      free = nullptr;
      break;
    }
    if (state == kFree) {
      free = &one;
      break;  // entries are taken in order, so all later ones are free
    }
  }
  if (free != nullptr) {
    free->device = device;
    store_release(&free->state, uint32_t{kOpening});
  }
  unlock(&sampling.table_lock);
  return free;
}

bool start_device(uint32_t device, ze_result_t* result) {
  SampledDevice* one = take_place(device);
  if (one == nullptr) {
    return true;
  }
  *result = ZE_RESULT_SUCCESS;
  if (handle_of(device) == nullptr || driver_of(device) == nullptr) {
    report_off("no Level Zero driver lists the device", device);
    store_release(&one->state, uint32_t{kRefused});
    return false;
  }
  if (sampling.api.enable_metrics != nullptr) {
    sampling.api.enable_metrics(handle_of(device));  // has no effect if metrics are already enabled
  }
  *result = find_stall_group(sampling.api, handle_of(device), &one->group);
  if (*result == ZE_RESULT_SUCCESS && one->group.handle != nullptr) {
    *result = open_stream(sampling.api, *one);
  }
  if (*result != ZE_RESULT_SUCCESS || one->group.handle == nullptr) {
    store_release(&one->state, uint32_t{kRefused});
    return false;
  }
  uint32_t parts[kMaxSubDevices];
  const uint32_t count = sub_devices_of(device, parts, kMaxSubDevices);
  one->windows.begin(device, parent_of(device), parts, count);
  bool started = try_lock_long(&sampling.table_lock);
  if (started) {
    started = start_reader();
    unlock(&sampling.table_lock);
  }
  if (!started) {
    one->stream.close(sampling.api);
    report_off("cannot start the thread that reads samples", device);
  }
  store_release(&one->state, started ? uint32_t{kOn} : uint32_t{kRefused});
  return true;
}

// Waits until `is_done` returns true, for at most `ns`. Call it with the mutex held.
template <typename Done>
void wait_bounded(uint64_t ns, Done is_done) {
  const uint64_t until = now_ns() + ns;
  const timespec deadline = to_monotonic(until);
  while (!is_done() && now_ns() < until) {
    pthread_cond_timedwait(&changed, &mutex, &deadline);
  }
}

}  // namespace

void begin_stalls() {
  store_release(&sampling.wanted, 0U);
  if (!wants(GPUPROF_OPTION_SAMPLES) || wants(GPUPROF_OPTION_CODE_ONLY)) {
    return;
  }
  pthread_mutex_lock(&mutex);
  const bool left = sampling.stage == Stage::running || sampling.stage == Stage::ending;
  pthread_mutex_unlock(&mutex);
  if (left) {
    meta("sampling.off", "an earlier recording of this process is still sampling: record again later");
    return;
  }
  sampling = {};
  forget_refusals();
  for (SampledDevice& one : sampled) {
    one = {};
  }
  if (!changed_made) {
    pthread_condattr_t attributes;
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&changed, &attributes);
    pthread_condattr_destroy(&attributes);
    changed_made = true;
  }
  if (const char* lacks = bind_metrics(&sampling.api); lacks != nullptr) {
    char text[200];
    snprintf(text, sizeof(text), "the Level Zero loader has no %s: version 1.8 or later is needed", lacks);
    meta("sampling.off", text);
    return;
  }
  store_release(&sampling.wanted, 1U);
}

// The stream of a device includes its sub-devices. If the device has no stream, its sub-devices may have one each.
void sample_stalls(ze_device_handle_t handle) {
  if (load_acquire(&sampling.wanted) == 0 || handle == nullptr) {
    return;
  }
  note_work();
  const uint32_t device = own_index(handle);
  if (device == UINT32_MAX) {
    report_off("too many devices, or listing them took too long", kMaxDevices - 1);
    return;
  }
  const uint32_t whole = parent_of(device);
  ze_result_t result = ZE_RESULT_SUCCESS;
  if (start_device(whole, &result)) {
    return;
  }
  uint32_t parts[kMaxSubDevices];
  const uint32_t count = sub_devices_of(whole, parts, kMaxSubDevices);
  bool started = false;
  for (uint32_t i = 0; i < count && i < kMaxSubDevices; ++i) {
    ze_result_t of_part = ZE_RESULT_SUCCESS;
    started = start_device(parts[i], &of_part) || started;
  }
  if (!started) {
    report_refusal(result, whole);
  }
}

void flush_stalls() {
  if (load_acquire(&sampling.wanted) == 0) {
    return;
  }
  pthread_mutex_lock(&mutex);
  if (sampling.stage == Stage::running) {
    const uint32_t mine = ++sampling.asked;
    pthread_cond_broadcast(&changed);
    wait_bounded(kFlushWaitNs, [mine] {
      return sampling.stage == Stage::ended || static_cast<int32_t>(sampling.served - mine) >= 0;
    });
  }
  pthread_mutex_unlock(&mutex);
}

void end_stalls() {
  if (load_acquire(&sampling.wanted) == 0) {
    return;
  }
  store_release(&sampling.wanted, 0U);
  pthread_mutex_lock(&mutex);
  bool ended = true;
  if (sampling.stage == Stage::running || sampling.stage == Stage::ending) {
    sampling.stage = Stage::ending;
    pthread_cond_broadcast(&changed);
    wait_bounded(kEndWaitNs, [] { return sampling.stage == Stage::ended; });
    ended = sampling.stage == Stage::ended;
  }
  pthread_mutex_unlock(&mutex);
  if (!ended) {
    meta("level_zero.stalls.end", "timed out: the driver did not return its last samples");
  }
}

void stalls_at_exit(uint64_t last_call_ns) {
  store_relaxed(&sampling.last_call_ns, last_call_ns);
}

// Resets only the state. Streams, contexts and the thread belong to the parent process.
void forget_stalls() {
  sampling = {};
  forget_refusals();
  for (SampledDevice& one : sampled) {
    one = {};
  }
  mutex = PTHREAD_MUTEX_INITIALIZER;
  changed_made = false;
}

}  // namespace gpuprof::injection::level_zero
