// Identifies a process to attach to. A pid alone is not enough: the kernel reuses it, and exec replaces the program. A
// program that changes its user may no longer be recorded.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>

#include "base/result.h"
#include "base/unique_fd.h"

namespace gpuprof::record {

class TracedIdentity {
 public:
  // Captures the present identity. Fails if the process does not exist or `pid` is a thread's id.
  static Result<TracedIdentity> of(uint32_t pid);

  [[nodiscard]] uint32_t pid() const { return pid_; }
  [[nodiscard]] int pidfd() const { return pidfd_.get(); }  // readable once the process has ended
  [[nodiscard]] bool has_ended() const;

  // Checks that the process, or its thread `thread`, still has the same program, user and group ids.
  [[nodiscard]] Status check(pid_t thread = 0) const;

 private:
  struct Facts {
    std::string ids;  // real, effective, saved and file system ids of user and group, as in /proc/PID/status
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
