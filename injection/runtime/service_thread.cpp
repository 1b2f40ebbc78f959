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
constexpr uint64_t kTickNs = 100 * kMillisecond;  // longest interval between two ticks
// Interval between two reads of the control bits, with GPUPROF_OPTION_WINDOWS. The recorder allows for two of them.
constexpr uint64_t kLookNs = 5 * kMillisecond;
// Flush interval if nothing is launched. It is needed because kernels that were launched earlier may end.
constexpr uint64_t kIdleFlushNs = GPUPROF_IDLE_FLUSH_NS;
// More than one, because a recorder that was stopped together with the target may resume later.
constexpr uint32_t kSilentTicks = 3;
constexpr size_t kStackBytes = 1U << 20;

enum class Stage { running, ending, ended };

struct ServiceThread {
  pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  pthread_cond_t changed;
  bool made = false;  // the condition variable is initialized
  Stage stage = Stage::ended;
  // Used only by the service thread:
  const Vendor* vendor = nullptr;
  uint64_t pace_ns = 200 * kMillisecond;  // flush interval; docs/benchmarks.md explains this default
  uint64_t last_flush_ns = 0;
  bool worked = false;  // true: something was launched at some time
  bool recording = false;
  bool pausing = false;  // the vendor's complete_pause() is needed
  uint64_t next_tick_ns = 0;
  uint32_t silent_ticks = 0;  // number of successive ticks without a heartbeat of the recorder
  // Time at which recording stopped because the recorder was silent; 0: recording has not stopped.
  uint64_t left_ns = 0;
};
ServiceThread service;

// Waits until `stage` is reached. Returns false if `deadline` passes first. Call it with the mutex held.
bool wait_for(Stage stage, uint64_t deadline) {
  const timespec until = to_monotonic(deadline);
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

// Formats a key such as "cupti.version".
struct MetaKey {
  explicit MetaKey(const char* key) { snprintf(text, sizeof(text), "%s.%s", service.vendor->name, key); }
  char text[64];
};

// Finds out whether the recorder is gone. The target must find this out itself, because a killed recorder cannot switch
// recording off. If the recorder was only stopped and now continues, reports how long nothing was recorded.
void notice_silence() {
  service.silent_ticks = recorder_silent() ? service.silent_ticks + 1 : 0;
  const bool left = service.silent_ticks >= kSilentTicks;
  if (left && service.left_ns == 0) {
    service.left_ns = now_ns();
  } else if (!left && service.left_ns != 0 && service.silent_ticks == 0) {
    meta(MetaKey("not_recorded_ms").text, (now_ns() - service.left_ns) / kMillisecond);
    service.left_ns = 0;
  }
}

void switch_recording(bool on) {
  service.recording = vendor().set_recording(on);
  service.pausing = !on && vendor().complete_pause != nullptr;
}

// Starts or stops recording. While recording is paused or the recorder is gone, the target must pay no overhead.
void follow_recorder() {
  if ((control() & GPUPROF_CONTROL_UNWANTED) != 0 && vendor().note_unwanted != nullptr) {
    vendor().note_unwanted();
  }
  const bool wanted = service.left_ns == 0 && active();
  if (wanted != service.recording) {
    if (!wanted) {
      flush();
    }
    switch_recording(wanted);
  } else if (service.pausing) {
    service.pausing = !vendor().complete_pause();
  }
}

void tick() {
  const bool worked = __atomic_exchange_n(&work_noted, 0U, __ATOMIC_RELAXED) != 0;
  if (worked && !service.worked) {
    service.worked = true;
    vendor().first_work();
  }
  notice_silence();
  follow_recorder();
  if (service.left_ns != 0) {
    return;  // nobody would read the records
  }
  scan_modules();
  const uint64_t since = now_ns() - service.last_flush_ns;
  if (flush_requested()) {
    flush();
    flush_served();
  } else if (service.worked && (since >= kIdleFlushNs || (worked && since >= service.pace_ns))) {
    flush();
  } else if (worked) {
    note_work();  // too early for a flush: notes the work again for the next tick
  }
}

// Flushes complete records first. A forced flush follows, which also delivers records of unfinished work, without an
// end time.
void flush_rest() {
  stop_finding_python();
  tick();
  if (!service.worked || recorder_silent()) {
    return;  // nothing was launched, or nobody would read the records
  }
  flush();
  flush(true);
  vendor().totals();
}

uint64_t tick_ns() {
  return service.pace_ns < kTickNs ? service.pace_ns : kTickNs;
}

// Flushes periodically while `wanted` returns true. Returns true if the process ends, and false if `wanted` returned
// false.
bool flush_while(bool (*wanted)()) {
  while (wanted()) {
    uint64_t until = service.next_tick_ns;
    if (wants(GPUPROF_OPTION_WINDOWS) && service.left_ns == 0) {
      const uint64_t look = now_ns() + kLookNs;
      until = look < until ? look : until;
    }
    pthread_mutex_lock(&service.mutex);
    const bool ending = wait_for(Stage::ending, until);
    pthread_mutex_unlock(&service.mutex);
    if (ending) {
      return true;
    }
    if (now_ns() < service.next_tick_ns) {
      follow_recorder();
    } else {
      tick();
      service.next_tick_ns = now_ns() + (service.left_ns != 0 ? kIdleFlushNs : tick_ns());
    }
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
  if (pace >= GPUPROF_FLUSH_MS_MIN && pace <= GPUPROF_FLUSH_MS_MAX) {
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
  service.next_tick_ns = now_ns() + tick_ns();
  service.worked = false;
  service.silent_ticks = 0;
  service.left_ns = 0;
  switch_recording(active());
  reach(Stage::running);
}

// Returns whether to leave an attached process: recording was disabled, the recorder requests it, or the recorder is
// gone.
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
  pthread_sigmask(SIG_SETMASK, &all, &before);  // the target's signals must be handled by the target's own threads
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
    char text[128];
    snprintf(text, sizeof(text), "gpuprof held the end of the process for %.0f s: %s did not return its last records",
             static_cast<double>(kExitWaitNs) / 1e9, vendor().library);
    meta("note.exit_flush", text);
  }
}

}  // namespace gpuprof::injection
