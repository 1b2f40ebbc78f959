#include "base/log.h"

#include <fcntl.h>
#include <pty.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <termios.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <csignal>
#include <string>

#include "base/unique_fd.h"
#include "catch.h"

using gpuprof::UniqueFd;

namespace {

// Redirects stderr to a descriptor during its lifetime, and blocks signals as in a recording.
class Stderr {
 public:
  explicit Stderr(int fd) : before_(::dup(STDERR_FILENO)) {
    ::dup2(fd, STDERR_FILENO);
    sigset_t term;
    sigemptyset(&term);
    sigaddset(&term, SIGTERM);
    ::pthread_sigmask(SIG_BLOCK, &term, &mask_);
  }
  Stderr(const Stderr&) = delete;
  Stderr& operator=(const Stderr&) = delete;
  ~Stderr() {
    ::pthread_sigmask(SIG_SETMASK, &mask_, nullptr);
    ::dup2(before_.get(), STDERR_FILENO);
  }

 private:
  UniqueFd before_;
  sigset_t mask_{};
};

struct Ends {
  UniqueFd reader;
  UniqueFd writer;
};

Ends make_pipe() {
  std::array<int, 2> ends{};
  REQUIRE(::pipe2(ends.data(), O_CLOEXEC) == 0);
  return {UniqueFd(ends[0]), UniqueFd(ends[1])};
}

Ends make_sockets() {
  std::array<int, 2> ends{};
  REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) == 0);
  return {UniqueFd(ends[0]), UniqueFd(ends[1])};
}

void set_waiting(int fd, bool waiting) {
  const int flags = ::fcntl(fd, F_GETFL);
  REQUIRE(::fcntl(fd, F_SETFL, waiting ? flags & ~O_NONBLOCK : flags | O_NONBLOCK) == 0);
}

void fill(int fd) {
  set_waiting(fd, false);
  const std::string filler(1000, '.');
  for (size_t bytes = filler.size(); bytes > 0; bytes /= 10) {
    while (::write(fd, filler.data(), bytes) > 0) {
    }
  }
  set_waiting(fd, true);
}

std::string read_all(int fd) {
  set_waiting(fd, false);
  std::string all;
  std::array<char, 4096> part{};
  for (ssize_t n = 0; (n = ::read(fd, part.data(), part.size())) > 0;) {
    all.append(part.data(), static_cast<size_t>(n));
  }
  return all;
}

template <typename Function>
double seconds(const Function& function) {
  const auto begin = std::chrono::steady_clock::now();
  function();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

// Empties the logger's count of dropped messages, so that each test starts from 0.
void forget_dropped() {
  const Ends ends = make_pipe();
  const Stderr redirected(ends.writer.get());
  gpuprof::log::warn("room");
}

int descriptors_of(int fd) {
  constexpr int kMost = 256;
  struct stat wanted {};
  REQUIRE(::fstat(fd, &wanted) == 0);
  int found = 0;
  for (int other = 0; other < kMost; ++other) {
    struct stat status {};
    found += ::fstat(other, &status) == 0 && status.st_dev == wanted.st_dev && status.st_ino == wanted.st_ino ? 1 : 0;
  }
  return found;
}

void check_without_room(const Ends& ends) {
  {
    const Stderr redirected(ends.writer.get());
    fill(STDERR_FILENO);
    CHECK(seconds([] { gpuprof::log::warn("first"); }) < 10);
    CHECK(seconds([] {
            for (int i = 0; i < 1000; ++i) {
              gpuprof::log::warn("further");
            }
          }) < 10);
    read_all(ends.reader.get());
    gpuprof::log::warn("there is room");
    gpuprof::log::warn("and still is");
  }
  CHECK(read_all(ends.reader.get()) ==
        "gpuprof: warning: 1,001 messages not shown, because stderr was full\n"
        "gpuprof: warning: there is room\ngpuprof: warning: and still is\n");
}

}  // namespace

TEST_CASE("an unread pipe does not block the program, and dropped messages are reported later") {
  forget_dropped();
  check_without_room(make_pipe());
}

TEST_CASE("an unread socket does not block the program") {
  forget_dropped();
  check_without_room(make_sockets());
}

TEST_CASE("a message waits for a slow reader, and an error waits even after drops") {
  forget_dropped();
  const Ends ends = make_pipe();
  const Stderr redirected(ends.writer.get());
  fill(STDERR_FILENO);
  CHECK(seconds([] { gpuprof::log::warn("first"); }) > 0.5);
  CHECK(seconds([] { gpuprof::log::error({"last", ""}); }) > 0.5);
  forget_dropped();
}

TEST_CASE("a stopped terminal does not block the program") {
  forget_dropped();
  int master = -1;
  int slave = -1;
  REQUIRE(::openpty(&master, &slave, nullptr, nullptr, nullptr) == 0);
  const Ends ends{UniqueFd(master), UniqueFd(slave)};
  const Stderr redirected(ends.writer.get());
  REQUIRE(::tcflow(STDERR_FILENO, TCOOFF) == 0);
  CHECK(seconds([] { gpuprof::log::warn("stopped"); }) < 10);
  REQUIRE(::tcflow(STDERR_FILENO, TCOON) == 0);
  gpuprof::log::warn("goes on");
  const std::string shown = read_all(ends.reader.get());
  CHECK(shown.find("1 message not shown") != std::string::npos);
  CHECK(shown.find("stopped") == std::string::npos);
  CHECK(shown.find("goes on") != std::string::npos);
}

TEST_CASE("a terminal whose buffer is almost full does not block the program") {
  forget_dropped();
  int master = -1;
  int slave = -1;
  REQUIRE(::openpty(&master, &slave, nullptr, nullptr, nullptr) == 0);
  const Ends ends{UniqueFd(master), UniqueFd(slave)};
  const Stderr redirected(ends.writer.get());
  CHECK(seconds([] { gpuprof::log::warn(std::string(200'000, 'x')); }) < 10);
  forget_dropped();
}

TEST_CASE("a long message arrives complete") {
  forget_dropped();
  const Ends ends = make_pipe();
  const std::string text(20'000, 'y');
  {
    const Stderr redirected(ends.writer.get());
    gpuprof::log::warn(text);
  }
  CHECK(read_all(ends.reader.get()) == "gpuprof: warning: " + text + "\n");
}

TEST_CASE("messages follow a redirected stderr, and the old descriptor is closed") {
  forget_dropped();
  Ends first = make_pipe();
  Ends second = make_pipe();
  const Stderr replaced(first.writer.get());
  gpuprof::log::warn("to the first");
  gpuprof::log::warn("to the first again");
  ::dup2(second.writer.get(), STDERR_FILENO);
  first.writer.reset();
  gpuprof::log::warn("to the second");
  CHECK(read_all(first.reader.get()) == "gpuprof: warning: to the first\ngpuprof: warning: to the first again\n");
  CHECK(read_all(second.reader.get()) == "gpuprof: warning: to the second\n");
  char byte = 0;
  CHECK(::read(first.reader.get(), &byte, 1) == 0);  // end of file, as the write end is closed
}

TEST_CASE("a pipe that could not be reopened is reopened at the next message") {
  forget_dropped();
  const Ends ends = make_pipe();
  const Stderr redirected(ends.writer.get());
  const int before = descriptors_of(STDERR_FILENO);
  rlimit files{};
  REQUIRE(::getrlimit(RLIMIT_NOFILE, &files) == 0);
  const rlimit none{STDERR_FILENO + 1, files.rlim_max};
  REQUIRE(::setrlimit(RLIMIT_NOFILE, &none) == 0);
  gpuprof::log::warn("without");
  REQUIRE(::setrlimit(RLIMIT_NOFILE, &files) == 0);
  CHECK(descriptors_of(STDERR_FILENO) == before);
  gpuprof::log::warn("with");
  CHECK(descriptors_of(STDERR_FILENO) == before + 1);
  CHECK(read_all(ends.reader.get()) == "gpuprof: warning: without\ngpuprof: warning: with\n");
}
