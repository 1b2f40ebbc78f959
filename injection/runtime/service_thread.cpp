#include "runtime/service_thread.h"

#include <pthread.h>
#include <sys/prctl.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <ctime>

#include "base/monotonic_clock.h"
#include "ipc/emit.h"
#include "python/python.h"
#include "runtime/lifecycle.h"
#include "runtime/module_scan.h"
#include "wire/wire.h"

namespace gpuprof::injection {

namespace {

constexpr uint64_t kMillisecond = 1000000;
constexpr uint64_t kTickNs = 100 * kMillisecond;          // how often the recorder's control bits are read, at least
constexpr uint64_t kIdleFlushNs = GPUPROF_IDLE_FLUSH_NS;  // long kernels end without a launch of anything else
constexpr uint32_t kSilentTicks = 3;  // after a stop of both, the target may run some time before the recorder does
constexpr size_t kStackBytes = 1U << 20;

enum class Stage { running, ending, ended };

struct ServiceThread {
  pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  pthread_cond_t changed;
  bool made = false;  // the condition variable
  Stage stage = Stage::ended;
  // Of the thread alone:
  const Vendor* vendor = nullptr;
  uint64_t pace_ns = 200 * kMillisecond;  // by measurement: docs/benchmarks.md
  uint64_t last_flush_ns = 0;
  bool worked = false;  // something was launched, ever
  bool recording = false;
  uint32_t silent_ticks = 0;  // in a row in which the recorder gave no sign of life
  uint64_t left_ns = 0;       // when we stopped for that; 0: we did not
};
ServiceThread service;

timespec to_timespec(uint64_t ns) {
  constexpr uint64_t kSecond = 1000 * kMillisecond;
  return {static_cast<time_t>(ns / kSecond), static_cast<long>(ns % kSecond)};
}

// Waits until `stage` is reached or `deadline` has come; false for the latter. Call with the mutex held.
bool wait_for(Stage stage, uint64_t deadline) {
  const timespec until = to_timespec(deadline);
  while (service.stage < stage && now_ns() < deadline) {
    pthread_cond_timedwait(&service.changed, &service.mutex, &until);
  }
  return service.stage >= stage;
}

void reach(Stage stage) {
  pthread_mutex_lock(&service.mutex);
  service.stage = stage;
  pthread_cond_broadcast(&service.changed);
  pthread_mutex_unlock(&service.mutex);
}

const Vendor::Flush& vendor() {
  return *service.vendor->flush;
}

void flush(bool last = false) {
  vendor().flush(last);
  service.last_flush_ns = now_ns();
}

// "cupti.key"
struct MetaKey {
  explicit MetaKey(const char* key) { snprintf(text, sizeof(text), "%s.%s", service.vendor->name, key); }
  char text[64];
};

// A recorder that was killed can not pause us. One that comes back (it was stopped) is told how long we were away.
bool recorder_left() {
  service.silent_ticks = recorder_silent() ? service.silent_ticks + 1 : 0;
  const bool left = service.silent_ticks >= kSilentTicks;
  if (left && service.left_ns == 0) {
    service.left_ns = now_ns();
  } else if (!left && service.left_ns != 0 && service.silent_ticks == 0) {
    meta(MetaKey("not_recorded_ms").text, (now_ns() - service.left_ns) / kMillisecond);
    service.left_ns = 0;
  }
  return service.left_ns != 0;
}

// The recorder can pause us; a paused target pays for nothing, nor does one whose recorder is gone.
void follow_recorder() {
  const bool wanted = !recorder_left() && active();
  if (wanted == service.recording) {
    return;
  }
  service.recording = wanted;
  if (!wanted) {
    flush();
  }
  vendor().set_recording(wanted);
}

void tick() {
  const bool worked = __atomic_exchange_n(&work_noted, 0U, __ATOMIC_RELAXED) != 0;
  if (worked && !service.worked) {
    service.worked = true;
    vendor().first_work();
  }
  follow_recorder();
  if (service.left_ns != 0) {
    return;  // nobody would read it
  }
  scan_modules();
  const uint64_t since = now_ns() - service.last_flush_ns;
  if (flush_requested()) {
    flush();
    flush_served();
  } else if (service.worked && (since >= kIdleFlushNs || (worked && since >= service.pace_ns))) {
    flush();
  } else if (worked) {
    note_work();  // too early for this one: at the next tick
  }
}

// Complete records first; a forced flush also brings the unfinished ones, without an end.
void flush_rest() {
  stop_finding_python();
  tick();
  if (!service.worked || recorder_silent()) {
    return;  // nothing was launched, or nobody would read it
  }
  flush();
  flush(true);
  vendor().totals();
}

uint64_t tick_ns() {
  return service.pace_ns < kTickNs ? service.pace_ns : kTickNs;
}

// True: the process ends. False: `wanted` no longer holds.
bool flush_while(bool (*wanted)()) {
  while (wanted()) {
    pthread_mutex_lock(&service.mutex);
    const bool ending = wait_for(Stage::ending, now_ns() + (service.left_ns != 0 ? kIdleFlushNs : tick_ns()));
    pthread_mutex_unlock(&service.mutex);
    if (ending) {
      return true;
    }
    tick();
  }
  return false;
}

void* run(void* /*unused*/) {
  prctl(PR_SET_NAME, kServiceThreadName);
  flush_while([] { return true; });
  flush_rest();
  reach(Stage::ended);
  return nullptr;
}

void read_pace() {
  const char* variable = vendor().pace_variable;
  const char* text = variable != nullptr ? secure_getenv(variable) : nullptr;
  const long pace = text != nullptr ? strtol(text, nullptr, 10) : 0;
  if (pace >= GPUPROF_FLUSH_MS_LEAST && pace <= GPUPROF_FLUSH_MS_MOST) {
    service.pace_ns = static_cast<uint64_t>(pace) * kMillisecond;
  }
}

void prepare(const Vendor& vendor) {
  service.vendor = &vendor;
  if (!service.made) {
    pthread_condattr_t attributes;
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&service.changed, &attributes);
    pthread_condattr_destroy(&attributes);
    service.made = true;
  }
  read_pace();
  service.last_flush_ns = 0;
  service.worked = false;
  service.silent_ticks = 0;
  service.left_ns = 0;
  service.recording = active();
  reach(Stage::running);
}

// An attached process is left when the recorder says so or is gone, and when recording was switched off for good.
bool retract_wanted() {
  return options() == nullptr || (control() & GPUPROF_CONTROL_RETRACT) != 0 || service.left_ns != 0;
}

void retract() {
  flush();
  vendor().detach();
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

bool start_service_thread(const Vendor& vendor) {
  prepare(vendor);
  if (!start_thread(run)) {
    reach(Stage::ended);
    return false;
  }
  return true;
}

void serve_until_retracted(const Vendor& vendor) {
  prepare(vendor);
  if (flush_while([] { return !retract_wanted(); })) {
    flush_rest();
  } else {
    retract();
  }
  reach(Stage::ended);
}

void finish_service_thread() {
  pthread_mutex_lock(&service.mutex);
  if (service.stage == Stage::running) {
    service.stage = Stage::ending;
    pthread_cond_broadcast(&service.changed);
  }
  const bool ended = wait_for(Stage::ended, now_ns() + kExitWaitNs);
  pthread_mutex_unlock(&service.mutex);
  if (!ended) {
    char text[96];
    snprintf(text, sizeof(text), "timed out: %s did not give back its last records", vendor().library);
    meta(MetaKey("exit_flush").text, text);
  }
}

}  // namespace gpuprof::injection
