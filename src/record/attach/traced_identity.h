// The identity of a process that we attach to. A pid alone is not enough: it is given to another process once this one
// has ended, exec makes another program of it, and a program that changes its user is not the one that was chosen.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>

#include "base/result.h"
#include "base/unique_fd.h"

namespace gpuprof::record {

class TracedIdentity {
 public:
  // The process as it is now. The error: there is none, or the pid is that of a thread.
  static Result<TracedIdentity> of(uint32_t pid);

  [[nodiscard]] uint32_t pid() const { return pid_; }
  [[nodiscard]] int pidfd() const { return pidfd_.get(); }  // readable when the process has ended
  [[nodiscard]] bool has_ended() const;

  // Whether it is still that process, with the program and the rights that it had; of one of its threads, where a
  // thread is named. The error says what is different.
  [[nodiscard]] Status check(pid_t thread = 0) const;

 private:
  struct Facts {
    std::string ids;  // real, effective, saved and file system ids of user and group, as /proc has them
    dev_t program_device = 0;
    ino_t program_inode = 0;  // 0: we may not know
  };
  TracedIdentity(uint32_t pid, UniqueFd pidfd) : pid_(pid), pidfd_(std::move(pidfd)) {}
  [[nodiscard]] Facts read(pid_t thread) const;

  uint32_t pid_;
  UniqueFd pidfd_;
  Facts facts_;
};

}  // namespace gpuprof::record
