#include "cupti/flusher.h"

#include <pthread.h>
#include <sys/prctl.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <ctime>

#include "base/atomics.h"
#include "cupti/buffers.h"
#include "cupti/devices.h"
#include "cupti/host_records.h"
#include "cupti/session.h"
#include "cupti/subscriber.h"
#include "python/python.h"
#include "runtime/emit.h"

namespace gpuprof::injection::cupti {
namespace {

constexpr uint64_t kMillisecond = 1000000;
constexpr uint64_t kTickNs = 100 * kMillisecond;          // how often the recorder's wishes are looked at, at least
constexpr uint64_t kIdleFlushNs = GPUPROF_IDLE_FLUSH_NS;  // long kernels end without a launch of anything else
constexpr uint64_t kExitWaitNs = 2000 * kMillisecond;
constexpr uint64_t kFinalizeWaitNs = GPUPROF_LEAVE_WAIT_NS;
constexpr uint32_t kSilentTicks = 3;  // after a stop of both, the target may run some time before the recorder does
constexpr size_t kStackBytes = 1U << 20;

enum class Stage { running, ending, ended };

struct Flusher {
  pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  pthread_cond_t changed;
  bool made = false;  // the condition variable
  Stage stage = Stage::ended;
  // Of the thread alone:
  uint64_t pace_ns = 200 * kMillisecond;  // by measurement: docs/benchmarks.md
  uint64_t last_flush_ns = 0;
  bool launched = false;  // something, ever
  bool recording = false;
  uint32_t silent_ticks = 0;  // in a row in which the recorder gave no sign of life
  uint64_t left_ns = 0;       // when we stopped for that; 0: we did not
};
Flusher flusher;

timespec to_timespec(uint64_t ns) {
  constexpr uint64_t kSecond = 1000 * kMillisecond;
  return {static_cast<time_t>(ns / kSecond), static_cast<long>(ns % kSecond)};
}

// Waits until `stage` is reached or `deadline` has come; false for the latter. Call with the mutex held.
bool wait_for(Stage stage, uint64_t deadline) {
  const timespec until = to_timespec(deadline);
  while (flusher.stage < stage && now_ns() < deadline) {
    pthread_cond_timedwait(&flusher.changed, &flusher.mutex, &until);
  }
  return flusher.stage >= stage;
}

void reach(Stage stage) {
  pthread_mutex_lock(&flusher.mutex);
  flusher.stage = stage;
  pthread_cond_broadcast(&flusher.changed);
  pthread_mutex_unlock(&flusher.mutex);
}

void flush(uint32_t flag) {
  if (session().convert_clock) {
    measure_clock_offset();
  }
  session().api.flush_all(flag);
  count_dropped();  // also when everything was dropped, and no buffer came back
  flusher.last_flush_ns = now_ns();
}

// A recorder that was killed can not pause us. One that comes back (it was stopped) is told how long we were away.
bool recorder_left() {
  flusher.silent_ticks = recorder_silent() ? flusher.silent_ticks + 1 : 0;
  const bool left = flusher.silent_ticks >= kSilentTicks;
  if (left && flusher.left_ns == 0) {
    flusher.left_ns = now_ns();
  } else if (!left && flusher.left_ns != 0 && flusher.silent_ticks == 0) {
    char text[24];
    snprintf(text, sizeof(text), "%llu", static_cast<unsigned long long>((now_ns() - flusher.left_ns) / kMillisecond));
    meta("cupti.not_recorded_ms", text);
    flusher.left_ns = 0;
  }
  return flusher.left_ns != 0;
}

// The recorder can pause us; a paused target pays for nothing, nor does one whose recorder is gone.
void follow_recorder() {
  const bool wanted = !recorder_left() && active();
  if (wanted == flusher.recording) {
    return;
  }
  flusher.recording = wanted;
  if (!wanted) {
    flush(0);
  }
  set_recording(wanted);
}

void tick() {
  Session& s = session();
  const bool launched = __atomic_exchange_n(&s.launched, 0U, __ATOMIC_RELAXED) != 0;
  if (launched && !flusher.launched) {
    flusher.launched = true;
    emit_devices();
    enable_unified_memory();
  }
  follow_recorder();
  if (flusher.left_ns != 0) {
    return;  // nobody would read it
  }
  look_around();
  const uint64_t since = now_ns() - flusher.last_flush_ns;
  if (flush_requested()) {
    flush(0);
    flush_served();
  } else if (flusher.launched && (since >= kIdleFlushNs || (launched && since >= flusher.pace_ns))) {
    flush(0);
  } else if (launched) {
    store_relaxed(&s.launched, 1U);  // too early for this one: at the next tick
  }
}

void report_totals() {
  char number[24];
  snprintf(number, sizeof(number), "%llu", static_cast<unsigned long long>(load_relaxed(&session().valid_records)));
  meta("cupti.valid_records", number);
  snprintf(number, sizeof(number), "%llu", static_cast<unsigned long long>(load_relaxed(&session().valid_ns)));
  meta("cupti.valid_ns", number);
}

// Complete records first; a forced flush also brings the unfinished ones, without an end.
void flush_rest() {
  stop_finding_python();
  tick();
  if (!flusher.launched || recorder_silent()) {
    return;  // nothing was launched, or nobody would read it
  }
  flush(0);
  store_relaxed(&session().ending, 1U);
  flush(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
  report_totals();
}

uint64_t tick_ns() {
  return flusher.pace_ns < kTickNs ? flusher.pace_ns : kTickNs;
}

// True: the process ends. False: `wanted` no longer holds.
bool flush_while(bool (*wanted)()) {
  while (wanted()) {
    pthread_mutex_lock(&flusher.mutex);
    const bool ending = wait_for(Stage::ending, now_ns() + (flusher.left_ns != 0 ? kIdleFlushNs : tick_ns()));
    pthread_mutex_unlock(&flusher.mutex);
    if (ending) {
      return true;
    }
    tick();
  }
  return false;
}

void* run(void* /*unused*/) {
  prctl(PR_SET_NAME, "gpuprof-flush");
  flush_while([] { return true; });
  flush_rest();
  reach(Stage::ended);
  return nullptr;
}

void read_pace() {
  const char* text = secure_getenv("GPUPROF_CUPTI_FLUSH_MS");
  const long pace = text != nullptr ? strtol(text, nullptr, 10) : 0;
  if (pace >= GPUPROF_FLUSH_MS_LEAST && pace <= GPUPROF_FLUSH_MS_MOST) {
    flusher.pace_ns = static_cast<uint64_t>(pace) * kMillisecond;
  }
}

void prepare() {
  if (!flusher.made) {
    pthread_condattr_t attributes;
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&flusher.changed, &attributes);
    pthread_condattr_destroy(&attributes);
    flusher.made = true;
  }
  read_pace();
  flusher.last_flush_ns = 0;
  flusher.launched = false;
  store_relaxed(&session().devices_named, 0U);
  flusher.silent_ticks = 0;
  flusher.left_ns = 0;
  flusher.recording = active();
  reach(Stage::running);
}

// An attached process is left when the recorder says so or is gone, and when recording was switched off for good.
bool retract_wanted() {
  return options() == nullptr || (control() & GPUPROF_CONTROL_RETRACT) != 0 || flusher.left_ns != 0;
}

bool wait_for_finalize() {
  const uint64_t deadline = now_ns() + kFinalizeWaitNs;
  while (!finalized() && now_ns() < deadline) {
    const timespec pause = to_timespec(10 * kMillisecond);
    nanosleep(&pause, nullptr);
  }
  return finalized();
}

// CUPTI leaves at the end of some call of the driver's, in the callback for it. A call of our own is as good as one of
// the target's, which may come never, and which would be held up for some two seconds.
void retract() {
  flush(0);
  request_finalize();
  report_totals();
  driver_version();
  if (!finalized()) {
    let_all_finalize();
    if (!wait_for_finalize()) {
      meta("cupti.retracted", "CUPTI leaves the process at its next call of the driver");
    }
  }
  free_spare_buffers();
  finish();
}

}  // namespace

bool start_thread(void* (*run)(void*)) {
  pthread_attr_t attributes;
  if (pthread_attr_init(&attributes) != 0) {
    return false;
  }
  pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
  pthread_attr_setstacksize(&attributes, kStackBytes);
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);  // the target's signals are for the target's threads
  pthread_t thread = {};
  const bool made = pthread_create(&thread, &attributes, run, nullptr) == 0;
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  pthread_attr_destroy(&attributes);
  return made;
}

bool start_flusher() {
  prepare();
  if (!start_thread(run)) {
    reach(Stage::ended);
    return false;
  }
  return true;
}

void flush_until_retracted() {
  prepare();
  if (flush_while([] { return !retract_wanted(); })) {
    flush_rest();
  } else {
    retract();
  }
  reach(Stage::ended);
}

void finish_flusher() {
  pthread_mutex_lock(&flusher.mutex);
  if (flusher.stage == Stage::running) {
    flusher.stage = Stage::ending;
    pthread_cond_broadcast(&flusher.changed);
  }
  const bool ended = wait_for(Stage::ended, now_ns() + kExitWaitNs);
  pthread_mutex_unlock(&flusher.mutex);
  if (!ended) {
    meta("cupti.exit_flush", "timed out: CUPTI did not give back its last records");
  }
}

}  // namespace gpuprof::injection::cupti
