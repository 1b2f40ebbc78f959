// Starts the command of `record`, signals it, and collects its exit status.
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
  bool stdout_to_stderr = false;     // true if the profile goes to stdout, which the target must then not use
  std::optional<rlimit> file_limit;  // the target's limit on open files
  std::vector<int> default_signals;  // signals that the recorder ignores and the target must not
};

class Target {
 public:
  // Starts the command, which is searched in the PATH of `env`, with the signal mask `original_mask`. With a user, it
  // runs as that user in its own session. Exit codes of errors: kExitNotFound and kExitNotExecutable.
  static Result<Target> spawn(const TargetSpec& spec, const std::optional<TargetUser>& user,
                              const backend::LaunchEnv& env, const sigset_t& original_mask);

  [[nodiscard]] pid_t pid() const { return pid_; }
  [[nodiscard]] int pidfd() const { return pidfd_.get(); }  // readable once the process has ended

  // Sends the signal to the command, or to its process group if it has a session of its own.
  void send(int signal) const;
  [[nodiscard]] bool has_own_session() const { return own_session_; }

  // Returns the wait status once the process has ended; nullopt while it runs.
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
