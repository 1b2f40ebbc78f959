#include "record/inject_thread.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string>
#include <utility>

#include "base/clock.h"

namespace gpuprof::record {
namespace {

constexpr uint64_t kStepNs = 5'000'000'000;   // one step of the work
constexpr uint64_t kCallNs = 60'000'000'000;  // a call of a function, as long as it goes on making system calls
constexpr uint64_t kBackNs = 10'000'000'000;  // getting it into a stop, to give everything back
constexpr useconds_t kPollUs = 100;
constexpr int kSpins = 100;  // most steps are a system call of the loader's
constexpr int kSystemCallStop = SIGTRAP | 0x80;

// What a fault in our own calls raises is not to be blocked: the kernel would take the target's handler away for it.
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

Result<TracedThread> TracedThread::stop(pid_t pid, pid_t tid) {
  if (::ptrace(PTRACE_SEIZE, tid, nullptr, as_pointer(PTRACE_O_TRACESYSGOOD)) != 0) {
    const int error = errno;
    return Error{error == EPERM ? kNoRight : "it can not be traced: " + std::string(std::strerror(error)), ""};
  }
  const std::string path = "/proc/" + std::to_string(pid) + "/mem";
  TracedThread thread(tid, UniqueFd(::open(path.c_str(), O_RDWR | O_CLOEXEC)));
  thread.stopped_ = false;
  if (!thread.interrupt(monotonic_ns() + kStepNs)) {
    return Error{thread.gone_ ? "it has ended" : "its thread " + std::to_string(tid) + " does not stop", ""};
  }
  if (!arch::read(tid, thread.before_)) {
    return Error{"its registers can not be read", ""};
  }
  return thread;
}

TracedThread::TracedThread(TracedThread&& other) noexcept
    : tid_(std::exchange(other.tid_, 0)),
      memory_(std::move(other.memory_)),
      before_(std::move(other.before_)),
      gate_(other.gate_),
      signal_mask_(other.signal_mask_),
      borrowed_(std::exchange(other.borrowed_, false)),
      gone_(other.gone_),
      stopped_(other.stopped_) {}

TracedThread::~TracedThread() {
  if (tid_ != 0 && !gone_) {
    give_back();
  }
}

// The next stop of the thread. False: none until then, or it has ended.
bool TracedThread::wait(int& status, uint64_t deadline_ns) {
  for (int turn = 0; !gone_; ++turn) {
    const pid_t got = ::waitpid(tid_, &status, __WALL | WNOHANG);
    if (got == tid_) {
      gone_ = !WIFSTOPPED(status);
      stopped_ = !gone_;
      return stopped_;
    }
    if (got < 0 && errno != EINTR) {
      gone_ = true;
      return false;
    }
    if (monotonic_ns() > deadline_ns) {
      return false;
    }
    if (turn > kSpins) {
      ::usleep(kPollUs);
    }
  }
  return false;
}

// Into a stop on the kernel's way back to the program, in which an interrupted system call is made again when the
// registers say so. Signals that arrive meanwhile are passed on.
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
      return true;  // a fault in what we made it call: this stop, too, is on the way back
    }
    stopped_ = false;
    if (::ptrace(PTRACE_CONT, tid_, nullptr, as_pointer(ours ? 0 : static_cast<uint64_t>(signal))) != 0) {
      return false;
    }
  }
  return false;
}

bool TracedThread::begins_again(long system_call) {
  switch (system_call) {
#ifdef SYS_epoll_wait
    case SYS_epoll_wait:
#endif
    case SYS_epoll_pwait:
    case SYS_epoll_pwait2:
    case SYS_read:  // this and the following: of sockets with a time limit (SO_RCVTIMEO)
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
    return Error{"its signal mask can not be read", ""};
  }
  uint64_t mask = all_but_faults();
  if (::ptrace(PTRACE_SETSIGMASK, tid_, as_pointer(sizeof(mask)), &mask) != 0) {
    return Error{"its signal mask can not be set", ""};
  }
  borrowed_ = true;
  return {};
}

// On to the next beginning or end of a system call.
bool TracedThread::step(int& status, uint64_t deadline_ns) {
  stopped_ = false;
  if (::ptrace(PTRACE_SYSCALL, tid_, nullptr, nullptr) != 0) {
    return false;
  }
  while (wait(status, deadline_ns)) {
    if (!is_event_stop(status)) {
      return WSTOPSIG(status) == kSystemCallStop;
    }
    stopped_ = false;  // the whole process was told to stop: later
    if (::ptrace(PTRACE_SYSCALL, tid_, nullptr, nullptr) != 0) {
      return false;
    }
  }
  return false;
}

Error TracedThread::lost(std::string_view doing, int status) {
  const std::string what(doing);
  if (gone_) {
    return {"it ended during " + what, ""};
  }
  if (stopped_ && WIFSTOPPED(status) && WSTOPSIG(status) == SIGSYS) {
    return {"a seccomp filter does not allow " + what, ""};
  }
  if (stopped_) {
    return {what + " ended in signal " + std::to_string(WSTOPSIG(status)), ""};
  }
  return {what + " did not come back", ""};
}

Result<int64_t> TracedThread::system_call(long number, const std::array<uint64_t, 6>& arguments) {
  const uint64_t deadline = monotonic_ns() + kStepNs;
  int status = 0;
  user_regs_struct general{};
  if (!arch::write_general(tid_, arch::for_system_call(before_.general, gate_, number, arguments)) ||
      !step(status, deadline) || !step(status, deadline) || !arch::read_general(tid_, general)) {
    return lost("system call " + std::to_string(number), status);
  }
  return int64_t{arch::result(general)};
}

Result<uint64_t> TracedThread::call(uint64_t function, uint64_t stack_end, const std::array<uint64_t, 3>& arguments) {
  // Left in the middle, the loader would keep its lock for ever: what is only slow gets more time.
  const uint64_t end = monotonic_ns() + kCallNs;
  const auto deadline = [end] { return std::min(monotonic_ns() + kStepNs, end); };
  std::array<unsigned char, sizeof(gate_)> slot{};
  std::memcpy(slot.data(), &gate_, sizeof(gate_));
  const std::span<const unsigned char> used(slot.data(), arch::return_slot);
  if (!write_memory(stack_end - used.size(), used) ||
      !arch::write_general(tid_, arch::for_function(before_.general, function, stack_end, arguments, gate_))) {
    return Error{"its memory can not be written", ""};
  }
  int status = 0;
  user_regs_struct general{};
  while (step(status, deadline()) && arch::read_general(tid_, general)) {
    if (!arch::returned(general, gate_, stack_end)) {
      continue;
    }
    const uint64_t value = arch::function_result(general);
    arch::skip_system_call(general);
    if (!arch::write_general(tid_, general) || !step(status, deadline())) {
      break;
    }
    return value;
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

void TracedThread::give_back() {
  if ((borrowed_ || !stopped_) && !interrupt(monotonic_ns() + kBackNs)) {
    return;  // killed, or not to be stopped: the kernel lets go of it when the calling thread ends
  }
  const bool restart = arch::result(before_.general) == -EINTR && begins_again(arch::system_call(before_.general));
  if (restart) {
    arch::begin_again(before_.general);
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
