// Identifies a process to attach to. A pid alone is not enough: the kernel reuses pids, exec replaces the program, and
// a program that changes its user must no longer be recorded.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>

#include "base/result.h"
#include "base/unique_fd.h"

namespace gpuprof::record {

class TracedIdentity {
 public:
  // Captures the present identity. Fails if the process does not exist, or if `pid` is the id of a thread.
  static Result<TracedIdentity> of(uint32_t pid);

  [[nodiscard]] uint32_t pid() const { return pid_; }
  [[nodiscard]] int pidfd() const { return pidfd_.get(); }  // readable once the process has ended
  [[nodiscard]] bool has_ended() const;

  // Checks that the process, or its thread `thread` (0: the main thread), still has the same program and the same ids
  // of user and group.
  [[nodiscard]] Status check(pid_t thread = 0) const;

 private:
  struct Facts {
    // Lines Uid and Gid of /proc/PID/status: the real, effective, saved and file system ids.
    std::string ids;
    dev_t program_device = 0;
    ino_t program_inode = 0;  // 0: /proc/PID/exe could not be read
  };
  TracedIdentity(uint32_t pid, UniqueFd pidfd) : pid_(pid), pidfd_(std::move(pidfd)) {}
  [[nodiscard]] Facts read(pid_t thread) const;

  uint32_t pid_;
  UniqueFd pidfd_;
  Facts facts_;
};

}  // namespace gpuprof::record
