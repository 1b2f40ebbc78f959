#include "runtime/cpu_samples.h"

#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>

#include "base/atomics.h"
#include "base/keep_errno.h"
#include "base/map_once.h"
#include "base/monotonic_clock.h"
#include "ipc/emit.h"
#include "ipc/ring.h"
#include "python/python.h"
#include "runtime/lifecycle.h"
#include "runtime/module_scan.h"
#include "runtime/service_thread.h"
#include "stack/stacks.h"

namespace gpuprof::injection {
namespace {

constexpr uint64_t kPollNs = 20'000'000;
constexpr uint64_t kRestNs = 1'000'000'000;  // between two polls while nothing is recorded
constexpr uint32_t kPollsPerScan = 5;        // polls between two scans for new modules
constexpr uint32_t kPollsPerCheck = 50;      // polls between two checks of a thread's signal mask
// A new thread is checked in each of its first polls: while a thread is being created, it blocks all signals.
constexpr uint32_t kFirstChecks = 10;
constexpr uint32_t kMaxThreads = 4096;
constexpr char kNote[] = "note.cpu_samples";

struct SampledThread {
  ThreadState state;  // with in_handler; tid 0: the slot is free
  uint64_t cpu_ns;    // the thread's CPU time at its last sample
  uint32_t seen_in;   // number of the last poll that has found the thread
  uint32_t checks;    // number of checks of its signal mask
  int timer;          // the kernel's id
  bool armed;
  bool refused;  // the kernel gave no timer for it
};

// A number of threads without samples. The profile gets it while the program runs, as the program may be killed.
struct Unsampled {
  uint32_t threads = 0;
  uint32_t reported = 0;
};

// Slots are never unmapped, because the signal of a deleted timer may still be pending.
SampledThread* slots = nullptr;
uint64_t last_sample = 0;
uint32_t follows_python = 0;  // atomic; 1: the handler may walk Python frames

// Only the sampling thread uses these, and the thread that stops it. Both hold the mutex.
struct Sampling {
  pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  pid_t pid = 0;        // process in which the thread samples; 0: it does not
  pid_t thread_in = 0;  // process in which the thread exists, which may rest after `pid` became 0
  int signal = 0;
  uint32_t poll = 0;
  uint32_t used = 0;  // number of slots that are or were in use
  uint32_t next = 0;  // the slot at which the next search begins
  Unsampled without_timer;
  Unsampled without_slot;  // the most at any time
};
Sampling sampling;

// Emits a time in which the thread computed, as a call with a stack. `stack` 0: it is unknown.
void emit_sample(gpuprof_segment* segment, ThreadState& thread, uint64_t start_ns, uint64_t end_ns, uint64_t stack) {
  gpuprof_launch call = {};
  call.header.type = GPUPROF_RECORD_LAUNCH;
  call.correlation = GPUPROF_CORRELATION_HOST | GPUPROF_CORRELATION_CPU | (add_relaxed(&last_sample, uint64_t{1}) + 1);
  call.time_ns = end_ns;
  call.tid = thread.tid;
  prctl(PR_GET_NAME, call.thread);
  call.stack = stack;
  if (!write_record(segment, thread, &call.header, sizeof(call), nullptr, 0, false)) {
    add_relaxed(&ring_of(segment, thread).lost[GPUPROF_LOSS_DETAIL], uint64_t{1});
    return;
  }
  gpuprof_host_op time = {};
  time.header.type = GPUPROF_RECORD_HOST_OP;
  time.correlation = call.correlation;
  time.start_ns = start_ns;
  time.end_ns = end_ns;
  time.count = 1;
  time.device = UINT32_MAX;
  time.tid = thread.tid;
  time.op = GPUPROF_HOST_CPU;
  write_record(segment, thread, &time.header, sizeof(time), nullptr, 0, false);
}

// Runs in the thread that computes, at any instruction. So it uses no thread-local memory of this library: the first
// use in a thread may allocate memory.
void on_sample(int /*signal*/, siginfo_t* info, void* context) {
  const KeepErrno keep_errno;
  auto* slot = static_cast<SampledThread*>(info->si_value.sival_ptr);
  gpuprof_segment* segment = open_segment();
  if (info->si_code != SI_TIMER || slot < slots || slot >= slots + kMaxThreads || segment == nullptr ||
      slot->state.tid != static_cast<uint32_t>(syscall(SYS_gettid)) ||
      (load_relaxed(&segment->control) & GPUPROF_CONTROL_ENABLED) == 0) {
    return;
  }
  const uint64_t now = now_ns();
  const uint64_t cpu_ns = thread_cpu_ns();
  const uint64_t spent = cpu_ns - slot->cpu_ns;
  slot->cpu_ns = cpu_ns;
  // If the thread had blocked the signal, the stack explains only the last part of the time.
  const uint64_t longest = segment->cpu_period_ns + GPUPROF_LONGEST_TICK_NS;
  const uint64_t explained = spent < longest ? spent : longest;
  if (spent > explained) {
    emit_sample(segment, slot->state, now - spent, now - explained, 0);
  }
  const void* python = load_relaxed(&follows_python) != 0 ? python_thread() : nullptr;
  emit_sample(segment, slot->state, now - explained, now,
              take_interrupted_stack(segment, slot->state, python, context));
}

bool is_ours(const struct sigaction& action) {
  return (action.sa_flags & SA_SIGINFO) != 0 && action.sa_sigaction == on_sample;
}

// Returns whether the signal has our handler now. It takes a signal only if it has no handler.
bool take_if_free(int signal) {
  // A program that ignores a real-time signal may get it. Ignoring SIGURG is its default.
  const auto is_free = [signal](const struct sigaction& action) {
    const bool ignored = signal == SIGURG && action.sa_handler == SIG_IGN;
    return (action.sa_flags & SA_SIGINFO) == 0 && (action.sa_handler == SIG_DFL || ignored);
  };
  struct sigaction before = {};
  if (sigaction(signal, nullptr, &before) != 0 || is_ours(before)) {
    return is_ours(before);
  }
  if (!is_free(before)) {
    return false;
  }
  struct sigaction action = {};
  action.sa_sigaction = on_sample;
  // All signals are blocked in the handler, so that no other handler delays it while it holds a lock.
  sigfillset(&action.sa_mask);
  // Not SA_ONSTACK: an alternate stack may have only 2 KiB, and the walk would write below it. The stack on which the
  // program computes is usually larger.
  action.sa_flags = SA_SIGINFO | SA_RESTART;
  if (sigaction(signal, &action, &before) != 0) {
    return false;
  }
  if (is_free(before)) {
    return true;
  }
  sigaction(signal, &before, nullptr);  // the program has set its handler meanwhile
  return false;
}

// Chooses SIGURG if it has no handler: if the program resets it, Linux ignores it. A real-time signal would then end
// the program. Else chooses one of these from the middle of their numbers: programs that use some take the first or the
// last ones.
int take_signal() {
  if (take_if_free(SIGURG)) {
    return SIGURG;
  }
  const int count = SIGRTMAX - SIGRTMIN + 1;
  for (int i = 0; i < count; ++i) {
    const int signal = SIGRTMIN + (count / 2 + i) % count;
    if (take_if_free(signal)) {
      return signal;
    }
  }
  return 0;
}

// Reads a file of a thread in /proc. Returns the length of the text, which ends with a NUL.
size_t read_of_thread(uint32_t tid, const char* name, char* text, size_t bytes) {
  char path[64];
  snprintf(path, sizeof(path), "/proc/self/task/%u/%s", tid, name);
  const int file = open(path, O_RDONLY | O_CLOEXEC);
  const ssize_t got = file < 0 ? 0 : read(file, text, bytes - 1);
  if (file >= 0) {
    close(file);
  }
  const size_t length = got > 0 ? static_cast<size_t>(got) : 0;
  text[length] = '\0';
  return length;
}

// Returns whether the thread may get the signal. One that blocks it may take all signals by sigwait() or signalfd().
bool accepts_signal(uint32_t tid) {
  char text[4096];
  constexpr char kMask[] = "\nSigBlk:\t";
  read_of_thread(tid, "status", text, sizeof(text));
  const char* mask = strstr(text, kMask);
  return mask != nullptr && (strtoull(mask + sizeof(kMask) - 1, nullptr, 16) >> (sampling.signal - 1) & 1U) == 0;
}

bool is_own_thread(uint32_t tid) {
  char name[32];
  read_of_thread(tid, "comm", name, sizeof(name));
  return strncmp(name, "gpuprof-", 8) == 0;
}

void disarm(SampledThread& slot) {
  if (slot.armed) {
    syscall(SYS_timer_delete, slot.timer);
    slot.armed = false;
  }
}

void disarm_all() {
  for (uint32_t i = 0; i < sampling.used; ++i) {
    disarm(slots[i]);
  }
}

// Deletes all timers. The next poll may start them again.
void begin_anew() {
  disarm_all();
  for (uint32_t i = 0; i < sampling.used; ++i) {
    slots[i].checks = 0;
  }
}

// The clock of a thread's CPU time, as Linux encodes it (clock_getcpuclockid(3) for a thread).
clockid_t cpu_clock_of(uint32_t tid) {
  constexpr uint32_t kThreadCpuTime = 6;
  return static_cast<clockid_t>(~tid << 3U | kThreadCpuTime);
}

bool arm(SampledThread& slot, uint64_t period_ns) {
  const clockid_t clock = cpu_clock_of(slot.state.tid);
  timespec spent = {};
  sigevent event = {};
  event.sigev_notify = SIGEV_THREAD_ID;
  event.sigev_signo = sampling.signal;
  event.sigev_value.sival_ptr = &slot;
  event._sigev_un._tid = static_cast<pid_t>(slot.state.tid);
  if (clock_gettime(clock, &spent) != 0 || syscall(SYS_timer_create, clock, &event, &slot.timer) != 0) {
    return false;
  }
  slot.armed = true;
  slot.cpu_ns = to_ns(spent);
  const timespec period = to_timespec(period_ns);
  const itimerspec times = {period, period};
  return syscall(SYS_timer_settime, slot.timer, 0, &times, nullptr) == 0;
}

SampledThread* find_slot(uint32_t tid) {
  SampledThread* free = nullptr;
  for (uint32_t i = 0; i < sampling.used; ++i) {
    // Begins after the last thread that was found, because Linux lists the threads in the order of their slots.
    SampledThread& slot = slots[(sampling.next + i) % sampling.used];
    if (slot.state.tid == tid) {
      sampling.next = static_cast<uint32_t>(&slot - slots) + 1;
      return &slot;
    }
    free = free == nullptr && slot.state.tid == 0 ? &slot : free;
  }
  if (free == nullptr && sampling.used < kMaxThreads) {
    free = &slots[sampling.used++];
  }
  if (free != nullptr) {
    free->state = {};
    free->state.in_handler = 1;
    free->state.tid = tid;
    free->checks = 0;
    free->refused = false;
  }
  return free;
}

// Writes the number if it has doubled since the last time, or if it is the last one.
void report(Unsampled& count, const char* why, bool is_last) {
  if (count.threads >= 2 * count.reported + 1 || (is_last && count.threads > count.reported)) {
    char text[120];
    snprintf(text, sizeof(text), "%s%u threads have no CPU samples: %s", is_last ? "" : "at least ", count.threads,
             why);
    meta(kNote, text);
    count.reported = count.threads;
  }
}

void report_unsampled(bool is_last) {
  report(sampling.without_timer, "Linux gave no timer (ulimit -i)", is_last);
  report(sampling.without_slot, "more than 4096 threads ran at once", is_last);
}

// Returns false if the table of threads is full.
bool look_at_thread(uint32_t tid, uint64_t period_ns) {
  SampledThread* slot = find_slot(tid);
  if (slot == nullptr) {
    return false;
  }
  slot->seen_in = sampling.poll;
  const bool is_new = !slot->armed && slot->checks < kFirstChecks;
  if (!is_new && (sampling.poll + tid) % kPollsPerCheck != 0) {
    return true;
  }
  ++slot->checks;
  if (!accepts_signal(tid) || is_own_thread(tid)) {
    disarm(*slot);
  } else if (!slot->armed) {
    const bool is_armed = arm(*slot, period_ns);
    const bool is_refused = !is_armed && errno != ESRCH && errno != EINVAL;  // these mean that the thread has ended
    if (!is_armed) {
      disarm(*slot);
    }
    sampling.without_timer.threads += (is_refused ? 1U : 0U) - (slot->refused ? 1U : 0U);
    slot->refused = is_refused;
  }
  return true;
}

// The list of threads may lack one that lives, and its handler may use the slot right now.
bool has_ended(uint32_t tid) {
  return syscall(SYS_tgkill, getpid(), tid, 0) != 0 && errno == ESRCH;
}

// Starts timers for new threads, and deletes those of threads that have ended.
void look_at_threads(uint64_t period_ns) {
  DIR* threads = opendir("/proc/self/task");
  if (threads == nullptr) {
    return;
  }
  uint32_t without_slot = 0;
  while (const dirent* entry = readdir(threads)) {
    if (const auto tid = static_cast<uint32_t>(strtoul(entry->d_name, nullptr, 10)); tid != 0) {
      without_slot += look_at_thread(tid, period_ns) ? 0 : 1;
    }
  }
  closedir(threads);
  if (without_slot > sampling.without_slot.threads) {
    sampling.without_slot.threads = without_slot;
  }
  report_unsampled(false);
  for (uint32_t i = 0; i < sampling.used; ++i) {
    if (slots[i].state.tid != 0 && slots[i].seen_in != sampling.poll && has_ended(slots[i].state.tid)) {
      disarm(slots[i]);
      slots[i].state.tid = 0;
    }
  }
}

// Returns the time until the next poll. 0: the sampling thread must end.
uint64_t poll_threads() {
  pthread_mutex_lock(&sampling.mutex);
  const bool runs = sampling.pid != 0;
  ++sampling.poll;
  struct sigaction now = {};
  const gpuprof_segment* segment = open_segment();
  const bool wanted = segment != nullptr && (control() & GPUPROF_CONTROL_ENABLED) != 0 && !recorder_silent();
  if (runs && wanted && (sigaction(sampling.signal, nullptr, &now) != 0 || !is_ours(now))) {
    begin_anew();
    sampling.signal = now.sa_handler == SIG_DFL || now.sa_handler == SIG_IGN ? 0 : take_signal();
    if (sampling.signal == 0) {
      meta(kNote, "the CPU samples ended early, because the program has taken their signal");
      sampling.pid = 0;
    }
  } else if (runs && wanted) {
    look_at_threads(segment->cpu_period_ns);
  } else {
    begin_anew();
  }
  sampling.pid = open_segment() == nullptr ? 0 : sampling.pid;
  const bool goes_on = sampling.pid != 0;
  sampling.thread_in = goes_on ? sampling.thread_in : 0;
  pthread_mutex_unlock(&sampling.mutex);
  return goes_on ? (wanted ? kPollNs : kRestNs) : 0;
}

void* run(void* /*unused*/) {
  prctl(PR_SET_NAME, "gpuprof-cpu");
  for (uint32_t poll = 0;; ++poll) {
    const uint64_t pause_ns = poll_threads();
    if (pause_ns == 0) {
      return nullptr;
    }
    if (pause_ns == kPollNs && poll % kPollsPerScan == 0) {
      scan_modules_and([] { store_relaxed(&follows_python, is_python_safe_in_handlers() ? 1U : 0U); });
    }
    const timespec pause = to_timespec(pause_ns);
    nanosleep(&pause, nullptr);
  }
}

}  // namespace

void start_cpu_samples() {
  if (!wants(GPUPROF_OPTION_CPU) || map_once(&slots, kMaxThreads) == nullptr) {
    return;
  }
  pthread_mutex_lock(&sampling.mutex);
  if (sampling.pid == 0) {  // else the thread of the last connection has not ended, and serves this one
    sampling.signal = take_signal();
    const bool exists = sampling.thread_in == getpid();
    sampling.pid = sampling.signal != 0 && (exists || start_thread(run)) ? getpid() : 0;
    sampling.thread_in = sampling.pid != 0 ? sampling.pid : sampling.thread_in;
    if (sampling.pid == 0) {
      meta(kNote, sampling.signal == 0 ? "no CPU samples: the program uses SIGURG and all real-time signals"
                                       : "no CPU samples: no thread could be started in the program");
    }
  }
  pthread_mutex_unlock(&sampling.mutex);
}

// A forked child has no timers and no sampling thread. Another thread of the parent may have held the mutex.
void reset_cpu_samples() {
  if (sampling.pid != 0 && sampling.pid != getpid()) {
    for (uint32_t i = 0; i < sampling.used; ++i) {
      slots[i] = {};
    }
    sampling = {};
  }
}

void stop_cpu_samples() {
  if (sampling.pid != getpid()) {
    return;  // this is a forked child, in which the mutex may be locked for ever
  }
  pthread_mutex_lock(&sampling.mutex);
  disarm_all();
  sampling.pid = 0;
  report_unsampled(true);
  pthread_mutex_unlock(&sampling.mutex);
}

}  // namespace gpuprof::injection
