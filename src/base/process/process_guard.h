// Holds one process, so that its pid can not refer to another one, and reports whether its identity is unchanged. Data
// of /proc/PID may go to the process's user only while the identity is unchanged. Otherwise, a recorder that runs as
// root could reveal to a user where a set-user-id program is in memory.
//
// Call state() before and after reading /proc/PID, and drop the data unless both return `same`.
#pragma once

#include <sys/types.h>

#include "base/process/credentials.h"
#include "base/result.h"
#include "base/unique_fd.h"

namespace gpuprof {

// Not thread-safe.
class ProcessGuard {
 public:
  // Guards the process that connected a Unix socket, with its rights at that time.
  static Result<ProcessGuard> of_peer(int socket);

  // Guards the process that has this pid now, with its current rights. Only for a process that gpuprof's user has
  // chosen.
  static Result<ProcessGuard> of_process(pid_t pid);

  // Guards the process that has this pid now, with the rights that the wanted process had earlier. If it has other
  // rights now, or another user's process has the pid, state() returns `changed`.
  static Result<ProcessGuard> of_earlier(const Credentials& earlier);

  enum class State {
    same,
    // The process has, or can regain, the rights of another user. Or its own user may not inspect it, because it made
    // itself undumpable, or executed a program that is unreadable or has more rights. The state stays `changed`.
    changed,
    ended,
  };
  // A process of gpuprof's own user never becomes `changed`, because gpuprof can read no more than that user.
  State state();

  // Returns whether data of /proc/PID may be used. Call it after reading, if state() was `same` before. If another
  // user's process has ended, it may have changed its identity before.
  [[nodiscard]] bool was_same();

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
  UniqueFd proc_;
  bool changed_ = false;
};

}  // namespace gpuprof
