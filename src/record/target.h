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

namespace gpuprof::record {

struct TargetSpec {
  std::vector<std::string> command;  // argv; the program is looked up in PATH
  std::string user;                  // run as this user; empty: as ours
  bool stdout_to_stderr = false;     // our stdout carries the profile
  std::optional<rlimit> file_limit;  // on open files, to be set in the target
  std::vector<int> default_signals;  // we ignore them, the target is not to
};

// The user that a target runs as.
struct TargetUser {
  uid_t uid = 0;
  gid_t gid = 0;
  std::string name;
  std::string home;
};
Result<std::optional<TargetUser>> find_user(const std::string& name);  // nullopt for an empty name

class Target {
 public:
  // Starts the command. Signals that the recorder has blocked are unblocked in it. The error of a program that
  // is not found has exit code 127, of one that can not be run 126.
  static Result<Target> spawn(const TargetSpec& spec, const std::optional<TargetUser>& user,
                              const backend::LaunchEnv& env, const sigset_t& original_mask);

  [[nodiscard]] pid_t pid() const { return pid_; }
  [[nodiscard]] int pidfd() const { return pidfd_.get(); }  // readable when the process has ended

  void send(int signal) const;

  // Collects the status once the process has ended; nullopt while it runs.
  std::optional<int> try_wait();

 private:
  Target(pid_t pid, UniqueFd pidfd) : pid_(pid), pidfd_(std::move(pidfd)) {}
  pid_t pid_;
  UniqueFd pidfd_;
  std::optional<int> status_;
};

}  // namespace gpuprof::record
