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
  std::vector<std::string> command;
  bool stdout_to_stderr = false;  // true if the profile goes to stdout; the target's stdout must then not mix with it
  std::optional<rlimit> file_limit;
  // Signals that the recorder ignores, but that must have their default action in the target.
  std::vector<int> default_signals;
};

class Target {
 public:
  // Searches the command in the PATH of `env` and starts it with the signal mask `original_mask`. If `user` is set, the
  // command runs as that user, in its own session. On error, the exit code is kExitNotFound or kExitNotExecutable.
  static Result<Target> spawn(const TargetSpec& spec, const std::optional<TargetUser>& user,
                              const backend::LaunchEnv& env, const sigset_t& original_mask);

  [[nodiscard]] pid_t pid() const { return pid_; }
  [[nodiscard]] int pidfd() const { return pidfd_.get(); }  // readable when the process has ended

  // Sends the signal to the command, or to its process group if it has a session of its own.
  void send(int signal) const;
  [[nodiscard]] bool has_own_session() const { return own_session_; }

  // Returns the wait status if the process has ended, and nullopt while it runs.
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
