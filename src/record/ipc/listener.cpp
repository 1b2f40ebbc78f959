#include "record/ipc/listener.h"

#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include "base/clock.h"
#include "base/log.h"
#include "base/return_if_error.h"
#include "base/text/hex.h"
#include "record/ipc/network_socket.h"
#include "record/process/ancestry.h"

namespace gpuprof::record {
namespace {

// Limits one call of take(), for each socket. The limit exceeds the backlog, so that every caller is accepted in time.
constexpr int kMaxAccepts = 256;
// After connections of unexpected users, or after more than kMany connections at once, the listener pauses for 20 times
// the CPU time that it has just used. So it uses at most about 5% of a CPU.
constexpr int kMany = 16;
constexpr uint64_t kPauseFactor = 20;
constexpr uint64_t kLeastPauseNs = 5'000'000;
constexpr uint64_t kLongestPauseNs = 200'000'000;
static_assert(kLongestPauseNs <= GPUPROF_HANDSHAKE_WAIT_NS / 10);
// Checking the ancestors of another user's process is expensive. If the check fails, that user is refused for this
// time.
constexpr uint64_t kStrangeNs = 200'000'000;
constexpr size_t kMaxStrangeUsers = 64;
constexpr size_t kMaxPendingConnections = 256;
// Connections that have not sent a hello may use at most 1/8 of the limit on open files.
constexpr size_t kSilentShare = 8;
// Time limit for the hello. It usually follows at once, but the process may be stopped or wait for a CPU.
constexpr uint64_t kHelloTimeoutNs = 5 * GPUPROF_HANDSHAKE_WAIT_NS;
constexpr uint64_t kLongestTurnNs = 100'000'000;

}  // namespace

Result<Listener> Listener::open(const ExpectedCallers& expected) {
  Listener listener(expected);
  if (listener.expected_.ancestor == 0) {
    listener.expected_.ancestor = ::getpid();
  }
  listener.name_ = "gpuprof-" + random_hex(24);
  listener.token_ = random_hex(sizeof(gpuprof_hello::token));
  auto socket = record::listen_at('\0' + listener.name_);
  if (!socket) {
    return std::move(socket).error();
  }
  listener.sockets_.push_back(std::move(*socket));
  rlimit files{};
  const bool known = ::getrlimit(RLIMIT_NOFILE, &files) == 0;
  listener.max_silent_ =
      std::min(kMaxPendingConnections, known ? files.rlim_cur / kSilentShare : kMaxPendingConnections);
  return listener;
}

Status Listener::listen_in(int folder) {
  auto socket = record::listen_at("/proc/self/fd/" + std::to_string(folder) + "/" GPUPROF_SOCKET_FILE);
  RETURN_IF_ERROR(socket);
  // Targets of other users must be able to connect, whatever the umask. Nobody else can change the folder.
  if (::fchmodat(folder, GPUPROF_SOCKET_FILE, 0666, 0) != 0) {
    return Error{std::string("cannot change the mode of the recorder's socket: ") + std::strerror(errno), ""};
  }
  sockets_.push_back(std::move(*socket));
  return {};
}

Status Listener::listen_in_network_of(const ProcessGuard& process) {
  auto socket = record::listen_in_network_of(process, '\0' + name_);
  RETURN_IF_ERROR(socket);
  listen_at(std::move(*socket));
  return {};
}

void Listener::listen_at(UniqueFd socket) {
  if (socket) {
    sockets_.push_back(std::move(socket));
  }
}

void Listener::add_poll_fds(std::vector<pollfd>& fds) const {
  if (monotonic_ns() >= next_accept_ns_) {
    for (const UniqueFd& socket : sockets_) {
      fds.push_back({socket.get(), POLLIN, 0});
    }
  }
  for (const PendingConnection& silent : silent_) {
    fds.push_back({silent.connection.get(), POLLIN, 0});
  }
}

std::vector<Caller> Listener::take() {
  // Do not count time in which the recorder was stopped, because callers may have been stopped with it.
  const uint64_t now = monotonic_ns();
  clock_ns_ += std::min(now - last_take_ns_, kLongestTurnNs);
  last_take_ns_ = now;
  const uint64_t begin = clock_ns(CLOCK_THREAD_CPUTIME_ID);
  std::vector<Caller> callers;
  const bool crowd = now >= next_accept_ns_ && accept_new(callers);
  std::erase_if(silent_, [&](PendingConnection& silent) { return listen_to(silent, callers); });
  if (crowd) {
    const uint64_t took = clock_ns(CLOCK_THREAD_CPUTIME_ID) - begin;
    next_accept_ns_ = monotonic_ns() + std::clamp(kPauseFactor * took, kLeastPauseNs, kLongestPauseNs);
  }
  return callers;
}

bool Listener::accept_new(std::vector<Caller>& callers) {
  bool strangers = false;
  int accepted = 0;
  for (const UniqueFd& socket : sockets_) {
    // Ask first: accept4() allocates a socket before it finds that no caller waits. It took 9% of the recorder's CPU
    // time.
    pollfd waiting{socket.get(), POLLIN, 0};
    if (::poll(&waiting, 1, 0) <= 0) {
      continue;
    }
    for (int left = kMaxAccepts; left > 0 && accept_one(socket, strangers, callers); --left) {
      ++accepted;
    }
  }
  return strangers || accepted > kMany;
}

bool Listener::accept_one(const UniqueFd& socket, bool& stranger, std::vector<Caller>& callers) {
  UniqueFd connection(::accept4(socket.get(), nullptr, nullptr, SOCK_CLOEXEC));
  if (!connection) {
    const bool no_more = errno == EMFILE || errno == ENFILE;
    lacked_descriptors_ = lacked_descriptors_ || no_more;
    if (no_more && drop_oldest(callers)) {
      return true;
    }
    if (no_more) {
      ::usleep(10'000);  // the socket stays readable, so sleep to avoid a busy loop
    }
    return false;
  }
  const auto peer = peer_credentials(connection.get());
  if (!peer || peer->pid <= 0 || !is_expected(*peer)) {
    stranger = true;
    return true;
  }
  if (silent_.size() >= max_silent_) {
    drop_oldest(callers);
  }
  silent_.push_back({static_cast<uint32_t>(peer->pid), std::move(connection), clock_ns_ + kHelloTimeoutNs});
  return true;
}

bool Listener::is_expected(const Credentials& peer) {
  if (peer.uid == 0 || peer.uid == ::geteuid() || peer.uid == expected_.user) {
    return true;
  }
  const uint64_t now = monotonic_ns();
  const auto strange = strange_until_.find(peer.uid);
  if (strange != strange_until_.end() && now < strange->second) {
    return false;
  }
  if (descends_from(peer.pid, expected_.ancestor)) {
    return true;
  }
  log::debug("refused a connection of process " + std::to_string(peer.pid) + " of user " + std::to_string(peer.uid));
  if (strange_until_.size() >= kMaxStrangeUsers) {
    strange_until_.clear();
  }
  strange_until_[peer.uid] = now + kStrangeNs;
  return false;
}

// Checks the ancestors of the process. Its environment proves nothing, because any process can forge it.
bool Listener::is_ours(PendingConnection& silent) const {
  if (!silent.ours) {
    const auto pid = static_cast<pid_t>(silent.pid);
    silent.ours = pid != ::getpid() && descends_from(pid, expected_.ancestor);
  }
  return *silent.ours;
}

bool Listener::expects_ours() {
  return std::any_of(silent_.begin(), silent_.end(), [this](PendingConnection& silent) { return is_ours(silent); });
}

void Listener::forget(PendingConnection& silent) {
  silent.connection.reset();  // is_ours() opens a file and may need this descriptor
  if (is_ours(silent)) {
    ++forgotten_;
    held_up_.warn("process " + std::to_string(silent.pid) + " is not recorded: it connected, but sent no hello in time",
                  "the machine is overloaded, or the process was stopped");
  }
}

void Listener::forget_all() {
  for (PendingConnection& silent : silent_) {
    forget(silent);
  }
  silent_.clear();
}

bool Listener::drop_oldest(std::vector<Caller>& callers) {
  if (silent_.empty()) {
    return false;
  }
  PendingConnection oldest = std::move(silent_.front());
  silent_.pop_front();
  if (!listen_to(oldest, callers)) {  // the hello may have arrived since the last check
    forget(oldest);
  }
  return true;
}

bool Listener::listen_to(PendingConnection& silent, std::vector<Caller>& callers) {
  std::array<std::byte, std::max(sizeof(gpuprof_hello), sizeof(gpuprof_code_offer))> packet{};
  // MSG_TRUNC returns the packet's full size, even if it exceeds the buffer.
  const ssize_t bytes = ::recv(silent.connection.get(), packet.data(), packet.size(), MSG_DONTWAIT | MSG_TRUNC);
  if (bytes < 0 && (errno == EAGAIN || errno == EINTR)) {
    const bool too_late = clock_ns_ >= silent.until_ns;
    if (too_late) {
      forget(silent);
    }
    return too_late;
  }
  const bool whole = bytes > 0 && bytes <= static_cast<ssize_t>(packet.size());
  const auto said = std::span<const std::byte>(packet).first(whole ? static_cast<size_t>(bytes) : 0);
  if (const auto offer = parse_code_offer(said, token_)) {
    callers.push_back({silent.pid, {}, std::move(silent.connection), offer});
    return true;
  }
  Hello hello = parse_hello(said, token_);
  if (hello.fault != HelloFault::none) {
    log::debug("refused a connection with an invalid handshake");
    return true;
  }
  callers.push_back({silent.pid, std::move(hello), std::move(silent.connection)});
  return true;
}

}  // namespace gpuprof::record
