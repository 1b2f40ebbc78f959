#include "record/listener.h"

#include <sys/random.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string_view>
#include <utility>

#include "base/clock.h"
#include "base/log.h"

namespace gpuprof::record {
namespace {

// Anybody may connect and wait.
constexpr int kMaxAccepts = 16;  // a turn must end
constexpr size_t kMaxSilent = 256;
constexpr size_t kSilentShare = 8;  // and of our descriptors an eighth
// A library says hello right after it connects, and gives up after two seconds; but its process may be stopped, or not
// get a processor for a while.
constexpr uint64_t kSilentNs = 10'000'000'000;
constexpr uint64_t kLongestTurnNs = 100'000'000;

std::string random_hex(size_t digits) {
  std::string bytes((digits + 1) / 2, '\0');
  if (::getrandom(bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size())) {
    return {};
  }
  std::string hex;
  for (const char byte : bytes) {
    constexpr const char* kDigits = "0123456789abcdef";
    hex += kDigits[(static_cast<unsigned char>(byte) >> 4) & 15];
    hex += kDigits[static_cast<unsigned char>(byte) & 15];
  }
  hex.resize(digits);
  return hex;
}

Result<UniqueFd> listen_abstract(const std::string& name) {
  UniqueFd fd(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path + 1, name.data(), name.size());
  const auto length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
  if (!fd || ::bind(fd.get(), reinterpret_cast<const sockaddr*>(&address), length) != 0 ||
      ::listen(fd.get(), 128) != 0) {
    return Error{std::string("cannot open the socket that targets connect to: ") + std::strerror(errno),
                 "gpuprof needs Unix sockets; check seccomp or container restrictions"};
  }
  return fd;
}

}  // namespace

Result<Listener> Listener::open() {
  Listener listener;
  listener.name_ = "gpuprof-" + random_hex(24);
  listener.token_ = random_hex(32);
  auto socket = listen_abstract(listener.name_);
  if (!socket) {
    return std::move(socket).error();
  }
  listener.socket_ = std::move(*socket);
  rlimit files{};
  const bool known = ::getrlimit(RLIMIT_NOFILE, &files) == 0;
  listener.max_silent_ = std::min(kMaxSilent, known ? files.rlim_cur / kSilentShare : kMaxSilent);
  return listener;
}

void Listener::add_poll_fds(std::vector<pollfd>& fds) const {
  fds.push_back({socket_.get(), POLLIN, 0});
  for (const Silent& silent : silent_) {
    fds.push_back({silent.connection.get(), POLLIN, 0});
  }
}

std::vector<Caller> Listener::take() {
  // Who says nothing while we are stopped may have been stopped with us.
  const uint64_t now = monotonic_ns();
  clock_ns_ += std::min(now - last_take_ns_, kLongestTurnNs);
  last_take_ns_ = now;
  accept_new();
  std::vector<Caller> callers;
  std::erase_if(silent_, [&](Silent& silent) { return listen_to(silent, callers); });
  return callers;
}

void Listener::accept_new() {
  for (int i = 0; i < kMaxAccepts; ++i) {
    UniqueFd connection(::accept4(socket_.get(), nullptr, nullptr, SOCK_CLOEXEC));
    if (!connection) {
      const bool no_more = errno == EMFILE || errno == ENFILE;
      if (no_more && forget_oldest()) {
        continue;
      }
      if (no_more) {
        ::usleep(10'000);  // the descriptor stays readable; do not spin on it
      }
      return;
    }
    ucred peer{};
    socklen_t peer_bytes = sizeof(peer);
    if (::getsockopt(connection.get(), SOL_SOCKET, SO_PEERCRED, &peer, &peer_bytes) != 0 || peer.pid <= 0) {
      log::debug("refused a connection of a process outside of our pid namespace");
      continue;
    }
    if (silent_.size() >= max_silent_) {
      forget_oldest();
    }
    silent_.push_back({static_cast<uint32_t>(peer.pid), std::move(connection), clock_ns_ + kSilentNs});
  }
}

// By the token in its environment; a process that was attached to does not have it there.
bool Listener::is_ours(Silent& silent) const {
  if (!silent.ours) {
    std::ifstream file("/proc/" + std::to_string(silent.pid) + "/environ", std::ios::binary);
    const std::string environment{std::istreambuf_iterator<char>(file), {}};
    silent.ours = environment.find(GPUPROF_ENV_TOKEN "=" + token_) != std::string::npos;
  }
  return *silent.ours;
}

bool Listener::expects_ours() {
  return std::any_of(silent_.begin(), silent_.end(), [this](Silent& silent) { return is_ours(silent); });
}

void Listener::forget(Silent& silent) {
  if (is_ours(silent)) {
    ++forgotten_;
    log::warn("process " + std::to_string(silent.pid) + " is not recorded: it was held up when it called gpuprof",
              "the machine is overloaded, or the process was stopped");
  }
}

void Listener::forget_all() {
  while (forget_oldest()) {
  }
}

bool Listener::forget_oldest() {
  if (silent_.empty()) {
    return false;
  }
  silent_.front().connection.reset();  // its descriptor is needed
  forget(silent_.front());
  silent_.pop_front();
  return true;
}

bool Listener::listen_to(Silent& silent, std::vector<Caller>& callers) {
  Caller caller;
  const ssize_t bytes = ::recv(silent.connection.get(), &caller.hello, sizeof(caller.hello), MSG_DONTWAIT);
  if (bytes < 0 && (errno == EAGAIN || errno == EINTR)) {
    const bool too_late = clock_ns_ >= silent.until_ns;
    if (too_late) {
      forget(silent);
    }
    return too_late;
  }
  const gpuprof_hello& hello = caller.hello;
  if (bytes != static_cast<ssize_t>(sizeof(hello)) || hello.magic != GPUPROF_WIRE_MAGIC ||
      hello.version != GPUPROF_WIRE_VERSION || std::string_view(hello.token, sizeof(hello.token)) != token_) {
    log::debug("refused a connection without our handshake");
    return true;
  }
  caller.pid = silent.pid;
  caller.connection = std::move(silent.connection);
  callers.push_back(std::move(caller));
  return true;
}

}  // namespace gpuprof::record
