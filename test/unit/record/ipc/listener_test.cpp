// Tests which clients the listener accepts. Processes of other users are children, so those tests need root.
#include "record/ipc/listener.h"

#include <fcntl.h>
#include <grp.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <thread>

#include "catch.h"

using gpuprof::UniqueFd;
using gpuprof::record::Caller;
using gpuprof::record::ExpectedCallers;
using gpuprof::record::Listener;

namespace {

constexpr uid_t kUser = 54321;  // belongs to no user
constexpr uid_t kOther = 54322;

// `file`: the socket's path; empty: the abstract name.
UniqueFd connect_as_target(const Listener& listener, const std::string& file = {}) {
  UniqueFd socket(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const std::string name = file.empty() ? '\0' + listener.name() : file;
  std::memcpy(address.sun_path, name.data(), name.size());
  const auto length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + name.size());
  return ::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), length) == 0 ? std::move(socket)
                                                                                           : UniqueFd{};
}

bool say_hello_to_listener(const UniqueFd& socket, const std::string& token, size_t more_bytes = 0) {
  gpuprof_hello hello{};
  hello.magic = GPUPROF_WIRE_MAGIC;
  hello.version = GPUPROF_WIRE_VERSION;
  std::memcpy(hello.token, token.data(), sizeof(hello.token));
  std::strcpy(hello.backend, "mock");
  std::string packet(reinterpret_cast<const char*>(&hello), sizeof(hello));
  packet.append(more_bytes, '\0');
  return ::send(socket.get(), packet.data(), packet.size(), MSG_NOSIGNAL) == static_cast<ssize_t>(packet.size());
}

Listener open_listener(const ExpectedCallers& expected = {}) {
  auto listener = Listener::open(expected);
  REQUIRE(listener);
  return std::move(*listener);
}

std::vector<Caller> take_within_a_while(Listener& listener) {
  const auto begin = std::chrono::steady_clock::now();
  for (;;) {
    auto callers = listener.take();
    if (!callers.empty() || std::chrono::steady_clock::now() - begin > std::chrono::seconds(20)) {
      return callers;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
}

// A child that connects as another user, says hello, and waits until its connection ends.
class OtherUser {
 public:
  OtherUser(const Listener& listener, uid_t user, const std::string& file = {}) : pid_(::fork()) {
    if (pid_ == 0) {
      ::alarm(60);
      if (::setgroups(0, nullptr) != 0 || ::setresgid(user, user, user) != 0 || ::setresuid(user, user, user) != 0) {
        ::_exit(2);
      }
      const UniqueFd socket = connect_as_target(listener, file);
      say_hello_to_listener(socket, listener.token());
      char byte = 0;
      ::_exit(socket && ::recv(socket.get(), &byte, 1, 0) <= 0 ? 0 : 1);
    }
  }
  OtherUser(const OtherUser&) = delete;
  OtherUser& operator=(const OtherUser&) = delete;
  ~OtherUser() {
    if (!ended_) {
      ::kill(pid_, SIGKILL);
      ::waitpid(pid_, nullptr, 0);
    }
  }

  bool has_ended() {
    ended_ = ended_ || ::waitpid(pid_, &status_, WNOHANG) == pid_;
    return ended_;
  }
  [[nodiscard]] int status() const { return status_; }
  [[nodiscard]] pid_t pid() const { return pid_; }

 private:
  pid_t pid_;
  int status_ = -1;
  bool ended_ = false;
};

}  // namespace

TEST_CASE("the listener also accepts targets, and no others, at the file in a folder, whatever the umask") {
  const std::string path = std::filesystem::temp_directory_path() / ("gpuprof-listener." + std::to_string(::getpid()));
  REQUIRE(::mkdir(path.c_str(), 0711) == 0);
  const UniqueFd folder(::open(path.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  Listener listener = open_listener({.user = kUser, .ancestor = 1 << 30});
  const mode_t before = ::umask(0077);
  REQUIRE(listener.listen_in(folder.get()));
  ::umask(before);
  struct stat info {};
  const std::string file = path + "/" GPUPROF_SOCKET_FILE;
  REQUIRE(::stat(file.c_str(), &info) == 0);
  CHECK((info.st_mode & 0777) == 0666);

  const UniqueFd socket = connect_as_target(listener, file);
  REQUIRE(say_hello_to_listener(socket, listener.token()));
  const auto callers = take_within_a_while(listener);
  REQUIRE(callers.size() == 1);
  CHECK(callers[0].pid == static_cast<uint32_t>(::getpid()));
  if (::geteuid() == 0) {
    OtherUser stranger(listener, kOther, file);
    while (!stranger.has_ended()) {
      CHECK(listener.take().empty());
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    CHECK(stranger.status() == 0);
  }
  std::filesystem::remove_all(path);
}

TEST_CASE("a client with the token becomes a caller") {
  Listener listener = open_listener();
  const UniqueFd socket = connect_as_target(listener);
  REQUIRE(say_hello_to_listener(socket, listener.token()));
  const auto callers = listener.take();
  REQUIRE(callers.size() == 1);
  CHECK(callers[0].pid == static_cast<uint32_t>(::getpid()));
  CHECK(callers[0].hello.backend == "mock");
}

TEST_CASE("a hello with additional bytes is rejected") {
  Listener listener = open_listener();
  const UniqueFd socket = connect_as_target(listener);
  REQUIRE(say_hello_to_listener(socket, listener.token(), 1));
  CHECK(listener.take().empty());
  char byte = 0;
  CHECK(::recv(socket.get(), &byte, 1, 0) <= 0);
}

TEST_CASE("another user's process is disconnected, whatever it sends") {
  if (::geteuid() != 0) {
    return;
  }
  // The ancestor does not exist, so children of this test are not its descendants.
  Listener listener = open_listener({.user = kUser, .ancestor = 1 << 30});
  OtherUser stranger(listener, kOther);
  while (!stranger.has_ended()) {
    CHECK(listener.take().empty());
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  CHECK(stranger.status() == 0);
  CHECK(listener.forgotten() == 0);

  const OtherUser user(listener, kUser);
  const auto callers = take_within_a_while(listener);
  REQUIRE(callers.size() == 1);
  CHECK(callers[0].pid == static_cast<uint32_t>(user.pid()));
}

TEST_CASE("a descendant is accepted under any user id") {
  if (::geteuid() != 0) {
    return;
  }
  Listener listener = open_listener();
  const OtherUser child(listener, kOther);
  const auto callers = take_within_a_while(listener);
  REQUIRE(callers.size() == 1);
  CHECK(callers[0].pid == static_cast<uint32_t>(child.pid()));
}

TEST_CASE("after many connections at once the listener pauses, and then accepts the next") {
  Listener listener = open_listener();
  std::vector<UniqueFd> crowd;
  for (int i = 0; i < 100; ++i) {
    crowd.push_back(connect_as_target(listener));
  }
  CHECK(listener.take().empty());
  std::vector<pollfd> fds;
  listener.add_poll_fds(fds);
  CHECK(fds.size() >= crowd.size());
  const UniqueFd socket = connect_as_target(listener);
  REQUIRE(say_hello_to_listener(socket, listener.token()));
  CHECK(take_within_a_while(listener).size() == 1);
}

TEST_CASE("of too many connections, the oldest is dropped only if it has not sent a hello") {
  rlimit before{};
  REQUIRE(::getrlimit(RLIMIT_NOFILE, &before) == 0);
  rlimit few = before;
  few.rlim_cur = 64;  // 64 descriptors: at most 64 / 8 connections may be silent
  REQUIRE(::setrlimit(RLIMIT_NOFILE, &few) == 0);
  Listener listener = open_listener();
  REQUIRE(::setrlimit(RLIMIT_NOFILE, &before) == 0);
  const UniqueFd silent = connect_as_target(listener);
  const UniqueFd late = connect_as_target(listener);
  CHECK(listener.take().empty());
  REQUIRE(say_hello_to_listener(late, listener.token()));
  std::vector<UniqueFd> others;
  for (int i = 0; i < 8; ++i) {
    others.push_back(connect_as_target(listener));
  }
  CHECK(listener.take().size() == 1);
  char byte = 0;
  CHECK(::recv(silent.get(), &byte, 1, MSG_DONTWAIT) == 0);
}
