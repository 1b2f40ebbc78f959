#include "base/process/process_guard.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>

#include "base/files/safe_open.h"
#include "base/process/pidfd.h"
#include "base/process/process_status.h"
#include "base/text/hints.h"

namespace gpuprof {
namespace {

constexpr int kPeerPidfd = 77;  // SO_PEERPIDFD, since Linux 6.5

Error cannot_hold(pid_t pid, int error) {
  const std::string who = "cannot open a descriptor of process " + std::to_string(pid) + ": ";
  if (error == ESRCH || error == ENOENT) {
    return {who + "it has ended", ""};
  }
  return {who + std::strerror(error), hints::kMoreFiles};
}

}  // namespace

Result<ProcessGuard> ProcessGuard::of_peer(int socket) {
  const auto credentials = peer_credentials(socket);
  if (!credentials || credentials->pid <= 0) {
    return Error{"the process at the other end of a socket is not in gpuprof's pid namespace", ""};
  }
  int fd = -1;
  socklen_t bytes = sizeof(fd);
  if (::getsockopt(socket, SOL_SOCKET, kPeerPidfd, &fd, &bytes) == 0) {
    return make(*credentials, UniqueFd(fd));
  }
  if (errno != ENOPROTOOPT) {
    return cannot_hold(credentials->pid, errno == ENODATA ? ESRCH : errno);
  }
  // Before Linux 6.5, a new process may already have the pid. If that process has another user, state() returns
  // `changed`.
  return make(*credentials, open_pidfd(credentials->pid));
}

Result<ProcessGuard> ProcessGuard::of_process(pid_t pid) {
  auto guard = of_earlier({.pid = pid});
  if (!guard) {
    return guard;
  }
  const auto users = parse_users(read_status(guard->proc_.get()));
  if (!users) {
    return cannot_hold(pid, ESRCH);
  }
  guard->credentials_ = {pid, users->uids[1], users->gids[1]};
  return guard;
}

Result<ProcessGuard> ProcessGuard::of_earlier(const Credentials& earlier) {
  return make(earlier, open_pidfd(earlier.pid));
}

Result<ProcessGuard> ProcessGuard::make(const Credentials& credentials, UniqueFd pidfd) {
  if (!pidfd) {
    return cannot_hold(credentials.pid, errno);
  }
  UniqueFd proc = open_process(credentials.pid);
  if (!proc) {
    return cannot_hold(credentials.pid, errno);
  }
  ProcessGuard guard(credentials, std::move(pidfd), std::move(proc));
  if (guard.has_ended()) {  // `proc` may be that of a later process with the same pid
    return cannot_hold(credentials.pid, ESRCH);
  }
  return guard;
}

bool ProcessGuard::has_ended() const {
  return gpuprof::has_ended(pidfd_);
}

ProcessGuard::State ProcessGuard::state() {
  if (changed_) {
    return State::changed;
  }
  if (has_ended()) {
    return State::ended;
  }
  if (credentials_.uid == ::geteuid()) {
    return State::same;
  }
  // If a process is not dumpable, root owns its files in /proc. Root also owns the files of a thread without memory,
  // which has ended or is about to end. The status of such a thread has no line VmSize. Without any other thread, the
  // process counts as ended.
  UniqueFd thread;
  std::string status = read_status(proc_.get());
  if (!status_value(status, "VmSize")) {
    thread = open_live_thread(proc_.get());
    status = thread ? read_status(thread.get()) : std::string{};
  }
  struct stat file {};
  const bool found = ::fstatat(thread ? thread.get() : proc_.get(), "maps", &file, 0) == 0;
  const auto users = parse_users(status);
  if (!found || !users || !status_value(status, "VmSize")) {
    return State::ended;
  }
  changed_ = !users->are_all(credentials_.uid, credentials_.gid) || file.st_uid != credentials_.uid;
  return changed_ ? State::changed : State::same;
}

bool ProcessGuard::was_same() {
  const State now = state();
  return now == State::same || (now == State::ended && credentials_.uid == ::geteuid());
}

}  // namespace gpuprof
