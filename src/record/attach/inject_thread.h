// Makes a stopped thread of another process run system calls and functions, then restores the thread. ptrace requires
// that the same thread of the recorder calls all functions of this header.
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

// Message of the error that TracedThread::stop() returns if the kernel does not permit tracing.
inline constexpr const char* kNoRight = "no right to trace the process";

class TracedThread {
 public:
  // Stops the thread. The error says why it cannot be traced. After `give_up` has returned true, no new step begins,
  // and the present step ends early if that is safe. `who` and `give_up` must outlive the result.
  static Result<TracedThread> stop(const TracedIdentity& who, pid_t tid, const std::function<bool()>& give_up);

  TracedThread(TracedThread&& other) noexcept;
  TracedThread& operator=(TracedThread&&) = delete;
  TracedThread(const TracedThread&) = delete;
  TracedThread& operator=(const TracedThread&) = delete;
  ~TracedThread();

  // Returns whether this system call may fail with EINTR after a stop. release() then restarts it.
  static bool begins_again(long system_call);

  [[nodiscard]] const arch::General& registers() const { return before_.general; }

  // Prepares the thread for system_call() and call(). Blocks its signals until the destructor restores registers and
  // signals. `gate`: the address of an arch::gate instruction in the process.
  Status borrow(uint64_t gate);

  // Returns the kernel's result: an address, a descriptor, or -errno.
  Result<int64_t> system_call(long number, const std::array<uint64_t, 6>& arguments);

  // `stack_end`: the end of the memory that the function may use as stack, a multiple of 16.
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
  [[nodiscard]] bool waits_for_loader(const arch::General& general) const;
  void release();

  const TracedIdentity* who_;
  const std::function<bool()>* give_up_;
  pid_t tid_;
  UniqueFd memory_;
  arch::Registers before_;
  uint64_t gate_ = 0;
  uint64_t signal_mask_ = 0;
  bool borrowed_ = false;
  bool gone_ = false;
  bool replaced_ = false;   // the process has executed another program, which must not be changed
  bool stopped_ = true;     // waitpid() has reported the thread's present stop
  bool may_leave_ = false;  // the thread holds no lock, so its injected call can be abandoned
};

}  // namespace gpuprof::record
