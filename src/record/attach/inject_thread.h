// A thread of another process, stopped by ptrace, that makes system calls and calls functions for us, and then goes on
// where it was as if nothing had happened. Everything here is of the calling thread: ptrace is.
#pragma once

#include <sys/types.h>

#include <array>
#include <cstdint>
#include <functional>
#include <span>
#include <string_view>

#include "base/result.h"
#include "base/unique_fd.h"
#include "record/attach/inject_arch.h"
#include "record/attach/traced_identity.h"

namespace gpuprof::record {

// The message of TracedThread::stop() where the kernel does not allow it.
inline constexpr const char* kNoRight = "no right to trace it";

class TracedThread {
 public:
  // Stops the thread. The error says why it may not be traced. Once `give_up` returns true, no new step is begun, and a
  // step that can be broken off without harm is. `who` and `give_up` must outlive the result.
  static Result<TracedThread> stop(const TracedIdentity& who, pid_t tid, const std::function<bool()>& give_up);

  TracedThread(TracedThread&& other) noexcept;
  TracedThread& operator=(TracedThread&&) = delete;
  TracedThread(const TracedThread&) = delete;
  TracedThread& operator=(const TracedThread&) = delete;
  ~TracedThread();  // gives everything back as it was, and lets go

  // Whether this is a system call that waits, which the kernel may let fail with EINTR because the thread was stopped
  // in it: it is then begun again.
  static bool begins_again(long system_call);

  // As it was when it was stopped.
  [[nodiscard]] const user_regs_struct& registers() const { return before_.general; }

  // From here on the thread works for us. Its registers are kept, to be given back at the end, and its signals wait
  // until then. `gate`: the address of an instruction arch::gate in the process.
  Status borrow(uint64_t gate);

  // The value is the kernel's: an address, a descriptor, or -errno.
  Result<int64_t> system_call(long number, const std::array<uint64_t, 6>& arguments);

  // `stack_end` is the end of memory for a stack, a multiple of 16.
  Result<uint64_t> call(uint64_t function, uint64_t stack_end, const std::array<uint64_t, 3>& arguments);

  bool write_memory(uint64_t address, std::span<const unsigned char> bytes);
  bool read_memory(uint64_t address, std::span<unsigned char> bytes);

 private:
  TracedThread(const TracedIdentity& who, pid_t tid, const std::function<bool()>& give_up)
      : who_(&who), give_up_(&give_up), tid_(tid) {}
  bool wait(int& status, uint64_t deadline_ns);
  bool interrupt(uint64_t deadline_ns);
  bool step(int& status, uint64_t deadline_ns);
  Error lost(std::string_view doing, int status);
  Result<uint64_t> follow_call(uint64_t stack_end);
  void leave_wait(uint64_t lock);
  [[nodiscard]] bool waits_for_loader(const user_regs_struct& general) const;
  void give_back();

  const TracedIdentity* who_;
  const std::function<bool()>* give_up_;
  pid_t tid_;
  UniqueFd memory_;  // /proc/PID/mem
  arch::Registers before_;
  uint64_t gate_ = 0;
  uint64_t signal_mask_ = 0;
  bool borrowed_ = false;
  bool gone_ = false;       // it has ended
  bool replaced_ = false;   // by another program: nothing in it is ours to change
  bool stopped_ = true;     // in a stop that was told to us
  bool may_leave_ = false;  // it holds nothing that would be missed
};

}  // namespace gpuprof::record
