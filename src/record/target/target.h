// The process that `record` starts, and its end.
#pragma once

#include <signal.h>
#include <sys/resource.h>
#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

#include "backend/backend.h"
#include "base/result.h"
#include "base/unique_fd.h"
#include "record/target/target_user.h"

namespace gpuprof::record {

struct TargetSpec {
  std::vector<std::string> command;  // argv
  bool stdout_to_stderr = false;     // our stdout carries the profile
  std::optional<rlimit> file_limit;  // on open files, to be set in the target
  std::vector<int> default_signals;  // we ignore them, the target is not to
};

class Target {
 public:
  // Starts the command, looked up in the PATH of `env`. Signals that the recorder has blocked are unblocked in it. With
  // a user it runs as that user, in a session of its own. The error of a program that is not found has the exit
  // code kExitNotFound, of one that can not be run kExitNotExecutable.
  static Result<Target> spawn(const TargetSpec& spec, const std::optional<TargetUser>& user,
                              const backend::LaunchEnv& env, const sigset_t& original_mask);

  [[nodiscard]] pid_t pid() const { return pid_; }
  [[nodiscard]] int pidfd() const { return pidfd_.get(); }  // readable when the process has ended

  // To the command; where it has a session of its own, to its process group, as the terminal would.
  void send(int signal) const;
  [[nodiscard]] bool has_own_session() const { return own_session_; }

  // Collects the status once the process has ended; nullopt while it runs.
  std::optional<int> try_wait();

 private:
  Target(pid_t pid, UniqueFd pidfd, bool own_session)
      : pid_(pid), pidfd_(std::move(pidfd)), own_session_(own_session) {}
  pid_t pid_;
  UniqueFd pidfd_;
  bool own_session_;
  std::optional<int> status_;
};

}  // namespace gpuprof::record
