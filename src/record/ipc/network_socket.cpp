#include "record/ipc/network_socket.h"

#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <span>
#include <utility>

#include "base/process/packet.h"
#include "base/text/hints.h"

namespace gpuprof::record {
namespace {

constexpr int kBacklog = 128;
constexpr int kWaitMs = 1000;

// `kind`: "net" or "user".
bool shares_namespace(pid_t pid, const char* kind) {
  struct stat theirs {};
  struct stat ours {};
  const std::string path = "/ns/" + std::string(kind);
  return ::stat(("/proc/" + std::to_string(pid) + path).c_str(), &theirs) != 0 ||
         ::stat(("/proc/self" + path).c_str(), &ours) != 0 ||
         (theirs.st_ino == ours.st_ino && theirs.st_dev == ours.st_dev);
}

// Makes the child's socket acceptable to a target in whose user namespace root has no id. The raw system calls change
// only this thread, which is the only one of the child.
void become_user_of(const Credentials& user) {
  // Without these rights, the socket belongs to root, whom most targets accept, too.
  (void)::syscall(SYS_setgroups, 0, nullptr);
  (void)::syscall(SYS_setresgid, user.gid, user.gid, user.gid);
  (void)::syscall(SYS_setresuid, user.uid, user.uid, user.uid);
  // The user must not trace the child, whatever fs.suid_dumpable is.
  (void)::prctl(PR_SET_DUMPABLE, 0);
}

// Runs in a child, because a process cannot always return from another user namespace. The child sends the socket, or
// an error number.
void make_socket(int parent, const ProcessGuard& process, const std::string& name) {
  const bool becomes_user = ::geteuid() == 0 && !shares_namespace(process.pid(), "user");
  int error = 0;
  UniqueFd made;
  // The owner of a user namespace has the right to enter its network only inside it.
  if (::setns(process.pidfd(), CLONE_NEWNET) != 0 && ::setns(process.pidfd(), CLONE_NEWUSER | CLONE_NEWNET) != 0) {
    error = errno;
  } else {
    if (becomes_user) {
      become_user_of(process.credentials());
    }
    auto socket = listen_at(name);
    error = socket ? 0 : errno;
    made = socket ? std::move(*socket) : UniqueFd();
  }
  (void)send_packet(parent, std::as_bytes(std::span(&error, 1)), made.get());
}

Error cannot_enter(pid_t pid, const std::string& why) {
  const std::string text = std::to_string(pid);
  return {"process " + text + " is in another network namespace, which gpuprof cannot enter: " + why,
          "run gpuprof as root, or in that namespace (nsenter -t " + text + " -n, or inside the container)"};
}

}  // namespace

Result<UniqueFd> listen_at(const std::string& name) {
  UniqueFd fd(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, name.data(), name.size());
  const auto length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + name.size());
  if (!fd || ::bind(fd.get(), reinterpret_cast<const sockaddr*>(&address), length) != 0 ||
      ::listen(fd.get(), kBacklog) != 0) {
    const int error = errno;
    return Error{std::string("cannot open the socket that targets connect to: ") + std::strerror(error),
                 hints::of_error(error, "gpuprof needs Unix sockets; check seccomp or container restrictions")};
  }
  return fd;
}

Result<UniqueFd> listen_in_network_of(const ProcessGuard& process, const std::string& name) {
  std::array<int, 2> ends{};
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends.data()) != 0) {
    return Error{std::string("cannot make a socket: ") + std::strerror(errno), hints::kMoreFiles};
  }
  const UniqueFd ours(ends[0]);
  UniqueFd theirs(ends[1]);
  const pid_t child = ::fork();
  if (child < 0) {
    return Error{std::string("cannot fork: ") + std::strerror(errno), hints::kMoreProcesses};
  }
  if (child == 0) {
    make_socket(theirs.get(), process, name);
    ::_exit(0);
  }
  theirs.reset();
  pollfd answer{ours.get(), POLLIN, 0};
  const bool answered = ::poll(&answer, 1, kWaitMs) > 0;
  // A user of the namespace may have stopped the child.
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  int error = ETIMEDOUT;
  Received received = answered ? receive_packet(ours.get(), std::as_writable_bytes(std::span(&error, 1))) : Received();
  if (!received.fd && error != EADDRINUSE) {
    return cannot_enter(process.pid(), std::strerror(error));
  }
  return std::move(received.fd);
}

bool shares_network(pid_t pid) {
  return shares_namespace(pid, "net");
}

}  // namespace gpuprof::record
