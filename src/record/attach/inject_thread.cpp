#include "record/attach/inject_thread.h"

#include <linux/futex.h>
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <sstream>
#include <string>
#include <utility>

#include "base/clock.h"
#include "base/files/file.h"
#include "base/files/path.h"
#include "base/files/safe_open.h"
#include "base/process/system_calls_arch.h"
#include "base/return_if_error.h"

namespace gpuprof::record {
namespace {

// Time limit of the wait for one ptrace stop.
constexpr uint64_t kStepNs = 5'000'000'000;
// Time limit of a function call that continues to make system calls.
constexpr uint64_t kCallNs = 60'000'000'000;
// Time limit of the ptrace stop in which the thread is restored.
constexpr uint64_t kBackNs = 10'000'000'000;
constexpr useconds_t kPollUs = 100;
constexpr size_t kMaxSearchedMaps = 16 << 20;  // bytes of /proc/PID/maps that are searched
// Number of polls before the recorder sleeps between polls. Most steps are short system calls of the loader.
constexpr int kSpins = 100;
constexpr int kSystemCallStop = SIGTRAP | 0x80;

// These signals are never blocked. If an injected call raised one of them while it was blocked, the kernel would reset
// the signal's handler.
constexpr int kFaults[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGTRAP, SIGSYS};

constexpr uint64_t bit(int signal) {
  return uint64_t{1} << (signal - 1);
}

uint64_t all_but_faults() {
  uint64_t mask = ~uint64_t{0};
  for (const int signal : kFaults) {
    mask &= ~bit(signal);
  }
  return mask;
}

bool is_event_stop(int status) {
  return WIFSTOPPED(status) && status >> 16 == PTRACE_EVENT_STOP;
}

void* as_pointer(uint64_t value) {
  return reinterpret_cast<void*>(static_cast<uintptr_t>(value));  // NOLINT(performance-no-int-to-ptr)
}

}  // namespace

Result<TracedThread> TracedThread::stop(const TracedIdentity& who, pid_t tid, const std::function<bool()>& give_up) {
  if (::ptrace(PTRACE_SEIZE, tid, nullptr, as_pointer(PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACEEXEC)) != 0) {
    const int error = errno;
    return Error{error == EPERM ? kNoRight : "the process cannot be traced: " + std::string(std::strerror(error)), ""};
  }
  TracedThread thread(who, tid, give_up);
  // This descriptor always refers to the memory of the present program, even if the process executes another program
  // later.
  thread.memory_ = open_regular(AT_FDCWD, "/proc/" + std::to_string(who.pid()) + "/mem", O_RDWR);
  thread.stopped_ = false;
  thread.may_leave_ = true;
  arch::note_system_call(tid, thread.before_);
  const bool stops = thread.interrupt(monotonic_ns() + kStepNs);
  thread.may_leave_ = false;
  if (!stops) {
    return Error{thread.gone_ || thread.replaced_ ? "the process has ended"
                                                  : "the process's thread " + std::to_string(tid) + " does not stop",
                 ""};
  }
  if (!arch::read(tid, thread.before_)) {
    return Error{"the thread's registers cannot be read", ""};
  }
  return thread;
}

TracedThread::TracedThread(TracedThread&& other) noexcept
    : who_(other.who_),
      give_up_(other.give_up_),
      tid_(std::exchange(other.tid_, 0)),
      memory_(std::move(other.memory_)),
      before_(std::move(other.before_)),
      gate_(other.gate_),
      signal_mask_(other.signal_mask_),
      borrowed_(std::exchange(other.borrowed_, false)),
      gone_(other.gone_),
      replaced_(other.replaced_),
      stopped_(other.stopped_),
      may_leave_(other.may_leave_) {}

TracedThread::~TracedThread() {
  if (tid_ != 0 && !gone_) {
    release();
  }
}

// Waits for the next stop of the thread. Returns false at the deadline, or if the thread ends or executes another
// program.
bool TracedThread::wait(int& status, uint64_t deadline_ns) {
  for (int turn = 0; !gone_; ++turn) {
    const pid_t got = ::waitpid(tid_, &status, __WALL | WNOHANG);
    if (got == tid_) {
      gone_ = !WIFSTOPPED(status);
      stopped_ = !gone_;
      replaced_ = replaced_ || (stopped_ && status >> 16 == PTRACE_EVENT_EXEC);
      return stopped_ && !replaced_;
    }
    if (got < 0 && errno != EINTR) {
      gone_ = true;
      return false;
    }
    if (monotonic_ns() > deadline_ns) {
      return false;
    }
    if (turn > kSpins) {
      if (may_leave_ && (*give_up_)()) {
        return false;
      }
      ::usleep(kPollUs);
    }
  }
  return false;
}

// Stops the thread on its return from the kernel to the program. In this state, the thread's registers decide whether
// an interrupted system call restarts. The thread receives signals that arrive before the stop.
bool TracedThread::interrupt(uint64_t deadline_ns) {
  if (::ptrace(PTRACE_INTERRUPT, tid_, nullptr, nullptr) != 0) {
    return false;
  }
  if (stopped_) {
    stopped_ = false;
    if (::ptrace(PTRACE_CONT, tid_, nullptr, nullptr) != 0) {
      return false;
    }
  }
  int status = 0;
  while (wait(status, deadline_ns)) {
    if (is_event_stop(status)) {
      return true;
    }
    const int signal = WSTOPSIG(status);
    const bool ours = signal == kSystemCallStop || (borrowed_ && (bit(signal) & all_but_faults()) == 0);
    if (borrowed_ && ours && signal != kSystemCallStop) {
      // This is a fault in an injected call. It also stops the thread on its return to the program.
      return true;
    }
    stopped_ = false;
    ::ptrace(PTRACE_INTERRUPT, tid_, nullptr, nullptr);  // any stop cancels the pending interrupt, so request it again
    if (::ptrace(PTRACE_CONT, tid_, nullptr, as_pointer(ours ? 0 : static_cast<uint64_t>(signal))) != 0) {
      return false;
    }
  }
  return false;
}

bool TracedThread::begins_again(long system_call) {
  if (is_one_of(kOlderEventPolls, system_call)) {
    return true;
  }
  switch (system_call) {
    case SYS_epoll_pwait:
    case SYS_epoll_pwait2:
    case SYS_read:  // this and the following calls: on sockets with a timeout (SO_RCVTIMEO)
    case SYS_readv:
    case SYS_accept:
    case SYS_accept4:
    case SYS_recvfrom:
    case SYS_recvmsg:
      return true;
    default:
      return false;
  }
}

Status TracedThread::borrow(uint64_t gate) {
  gate_ = gate;
  if (::ptrace(PTRACE_GETSIGMASK, tid_, as_pointer(sizeof(signal_mask_)), &signal_mask_) != 0) {
    return Error{"the thread's signal mask cannot be read", ""};
  }
  uint64_t mask = all_but_faults();
  if (::ptrace(PTRACE_SETSIGMASK, tid_, as_pointer(sizeof(mask)), &mask) != 0) {
    return Error{"the thread's signal mask cannot be set", ""};
  }
  borrowed_ = true;
  return {};
}

// Lets the thread run to the next entry or exit of a system call.
bool TracedThread::step(int& status, uint64_t deadline_ns) {
  stopped_ = false;
  if (::ptrace(PTRACE_SYSCALL, tid_, nullptr, nullptr) != 0) {
    return false;
  }
  while (wait(status, deadline_ns)) {
    if (!is_event_stop(status)) {
      return WSTOPSIG(status) == kSystemCallStop;
    }
    // The process has a group stop (SIGSTOP). Continue: the group stop takes effect after the injection.
    stopped_ = false;
    if (::ptrace(PTRACE_SYSCALL, tid_, nullptr, nullptr) != 0) {
      return false;
    }
  }
  return false;
}

Error TracedThread::lost(std::string_view doing, int status) {
  const std::string what(doing);
  if (gone_ || replaced_) {
    return {(gone_ ? "the process ended during " : "the process executed another program during ") + what, ""};
  }
  if (stopped_ && WIFSTOPPED(status) && WSTOPSIG(status) == SIGSYS) {
    return {"a seccomp filter does not allow " + what, ""};
  }
  if (stopped_) {
    return {what + " ended in signal " + std::to_string(WSTOPSIG(status)), ""};
  }
  return {what + " did not return", ""};
}

Result<int64_t> TracedThread::system_call(long number, const std::array<uint64_t, 6>& arguments) {
  RETURN_IF_ERROR(who_->check(tid_));
  const uint64_t deadline = monotonic_ns() + kStepNs;
  int status = 0;
  arch::General general;
  if (!arch::write_general(tid_, arch::for_system_call(before_.general, gate_, number, arguments)) ||
      !step(status, deadline) || !step(status, deadline) || !arch::read_general(tid_, general)) {
    return lost("system call " + std::to_string(number), status);
  }
  return int64_t{general.result};
}

Result<uint64_t> TracedThread::call(uint64_t function, uint64_t stack_end, const std::array<uint64_t, 3>& arguments) {
  RETURN_IF_ERROR(who_->check(tid_));
  if ((*give_up_)()) {
    return Error{"injection was stopped before a call", ""};
  }
  std::array<unsigned char, sizeof(gate_)> slot{};
  std::memcpy(slot.data(), &gate_, sizeof(gate_));
  const std::span<const unsigned char> used(slot.data(), arch::return_slot);
  if (!write_memory(stack_end - used.size(), used) ||
      !arch::write_general(tid_, arch::for_function(before_.general, function, stack_end, arguments, gate_))) {
    return Error{"the process's memory cannot be written", ""};
  }
  return follow_call(stack_end);
}

// Returns whether the thread waits for the loader's outermost lock, which is a futex in the loader's memory. Inner
// locks, such as those of malloc, are in libc's memory.
bool TracedThread::waits_for_loader(const arch::General& general) const {
  if (general.system_call != SYS_futex) {
    return false;
  }
  const uint64_t address = arch::first_argument(general);
  std::istringstream maps(read_text("/proc/" + std::to_string(who_->pid()) + "/maps", kMaxSearchedMaps));
  for (std::string line; std::getline(maps, line);) {
    char* end = nullptr;
    const uint64_t from = std::strtoull(line.c_str(), &end, 16);
    const uint64_t to = *end == '-' ? std::strtoull(end + 1, nullptr, 16) : 0;
    if (from <= address && address < to) {
      const std::string_view file = base_name(line);
      return file.starts_with("ld-linux") || file.starts_with("ld-2.");
    }
  }
  return false;
}

// Makes the thread stop waiting for a lock. The thread may have consumed a wake-up, so it wakes the next waiter.
void TracedThread::leave_wait(uint64_t lock) {
  if (interrupt(monotonic_ns() + kBackNs)) {
    (void)system_call(SYS_futex, {lock, FUTEX_WAKE | FUTEX_PRIVATE_FLAG, 1});
  }
}

// Follows the call until the function returns. If a call were abandoned inside the loader, the loader's lock would be
// held for ever, so slow calls get more time. Until a call holds that lock, it can be abandoned.
Result<uint64_t> TracedThread::follow_call(uint64_t stack_end) {
  const uint64_t end = monotonic_ns() + kCallNs;
  const auto deadline = [end] { return std::min(monotonic_ns() + kStepNs, end); };
  int status = 0;
  arch::General general;
  uint64_t lock = 0;
  bool entry = false;  // true at the entry of a system call, false at its exit
  bool begun = false;
  while (step(status, deadline()) && arch::read_general(tid_, general)) {
    entry = !entry;
    if (!entry || !arch::returned(general, gate_, stack_end)) {
      begun = begun || (entry && general.system_call != SYS_futex);
      may_leave_ = entry && !begun && waits_for_loader(general);
      lock = arch::first_argument(general);
      if (may_leave_ && (*give_up_)()) {
        break;
      }
      continue;
    }
    may_leave_ = false;
    const uint64_t value = arch::function_result(general);
    // A harmless call. A seccomp filter may kill the process for an invalid number.
    general.system_call = SYS_getpid;
    if (!arch::write_general(tid_, general) || !step(status, deadline())) {
      break;
    }
    return value;
  }
  if (std::exchange(may_leave_, false) && !gone_ && !replaced_) {
    leave_wait(lock);
    return Error{"the process's loader is busy: another thread keeps opening libraries", "try again later"};
  }
  return lost("a call", status);
}

bool TracedThread::write_memory(uint64_t address, std::span<const unsigned char> bytes) {
  return ::pwrite(memory_.get(), bytes.data(), bytes.size(), static_cast<off_t>(address)) ==
         static_cast<ssize_t>(bytes.size());
}

bool TracedThread::read_memory(uint64_t address, std::span<unsigned char> bytes) {
  return ::pread(memory_.get(), bytes.data(), bytes.size(), static_cast<off_t>(address)) ==
         static_cast<ssize_t>(bytes.size());
}

void TracedThread::release() {
  if (replaced_) {
    ::ptrace(PTRACE_DETACH, tid_, nullptr, nullptr);
    return;
  }
  if ((borrowed_ || !stopped_) && !interrupt(monotonic_ns() + kBackNs)) {
    // The thread was killed or does not stop. The kernel detaches it when the tracer ends.
    return;
  }
  const bool restart = before_.general.result == -EINTR && begins_again(before_.general.system_call);
  if (restart) {
    arch::begin_again(before_);
  }
  if (borrowed_) {
    arch::write(tid_, before_);
    ::ptrace(PTRACE_SETSIGMASK, tid_, as_pointer(sizeof(signal_mask_)), &signal_mask_);
  } else if (restart) {
    arch::write_general(tid_, before_.general);
  }
  ::ptrace(PTRACE_DETACH, tid_, nullptr, nullptr);
}

}  // namespace gpuprof::record
