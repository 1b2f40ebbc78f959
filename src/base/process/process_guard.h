// Holds on to one process, so that its number can not come to mean another one, and tells whether it is still who it
// was. What /proc/PID says of a process may be given to its user only while that holds: a recorder that runs as root
// could otherwise be made to tell a user where a set-user-id program lies in memory.
//
// Ask state() before a reading of /proc/PID and again after it, and drop what was read unless both say `same`.
#pragma once

#include <sys/types.h>

#include "base/process/credentials.h"
#include "base/result.h"
#include "base/unique_fd.h"

namespace gpuprof {

// Of one thread.
class ProcessGuard {
 public:
  // The process that connected a Unix socket, with the rights that it had when it did.
  static Result<ProcessGuard> of_peer(int socket);

  // The process that has this number now, with the rights that it has now.
  static Result<ProcessGuard> of_process(pid_t pid);

  enum class State {
    same,
    // It has, or can have again, the rights of somebody else; or its own user may not look into it (it is not dumpable:
    // it has executed a program with more rights than its user's, or one that he may not read, or has asked for it).
    // For good: what has been somebody else is not believed again.
    changed,
    ended,
  };
  // A process of our own user is never `changed`: it can not have us read anything that its user could not.
  State state();

  [[nodiscard]] bool has_ended() const;

  [[nodiscard]] const Credentials& credentials() const { return credentials_; }
  [[nodiscard]] pid_t pid() const { return credentials_.pid; }
  [[nodiscard]] int pidfd() const { return pidfd_.get(); }  // readable when the process has ended

 private:
  ProcessGuard(const Credentials& credentials, UniqueFd pidfd, UniqueFd proc)
      : credentials_(credentials), pidfd_(std::move(pidfd)), proc_(std::move(proc)) {}
  static Result<ProcessGuard> make(const Credentials& credentials, UniqueFd pidfd);

  Credentials credentials_;
  UniqueFd pidfd_;
  UniqueFd proc_;  // its /proc directory
  bool changed_ = false;
};

}  // namespace gpuprof
