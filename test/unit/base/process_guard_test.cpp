// Tests whose children change their user must run as root. The other tests run as any user.
#include "base/process/process_guard.h"

#include <grp.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <string>
#include <thread>

#include "base/process/process_status.h"
#include "base/unique_fd.h"
#include "catch.h"

using gpuprof::ProcessGuard;
using gpuprof::UniqueFd;
using State = gpuprof::ProcessGuard::State;

namespace {

constexpr uid_t kUser = 54321;  // belongs to no user

struct Pipe {
  UniqueFd read_end;
  UniqueFd write_end;

  Pipe() {
    std::array<int, 2> ends{};
    REQUIRE(::pipe(ends.data()) == 0);
    read_end.reset(ends[0]);
    write_end.reset(ends[1]);
  }
  void put() const { (void)!::write(write_end.get(), "x", 1); }
  void get() const {
    char byte = 0;
    (void)!::read(read_end.get(), &byte, 1);
  }
};

// A child that runs `first`, signals the test, waits for go_on(), runs `second`, and waits to be killed.
class Child {
 public:
  template <typename First, typename Second>
  Child(const First& first, const Second& second) : pid_(::fork()) {
    if (pid_ == 0) {
      ::alarm(60);
      first();
      done_.put();
      go_.get();
      second();
      done_.put();
      ::pause();
      ::_exit(0);
    }
    done_.get();
  }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;
  ~Child() { end(); }

  void go_on() const {
    go_.put();
    done_.get();
  }
  void end() {
    if (pid_ > 0) {
      ::kill(pid_, SIGKILL);
      ::waitpid(pid_, nullptr, 0);
      pid_ = -1;
    }
  }
  [[nodiscard]] pid_t pid() const { return pid_; }

 private:
  Pipe go_;
  Pipe done_;
  pid_t pid_;
};

ProcessGuard guard_of(pid_t pid) {
  auto guard = ProcessGuard::of_process(pid);
  REQUIRE(guard);
  return std::move(*guard);
}

// Changes the user of this process. The kernel then makes the process undumpable, so it is made dumpable again.
void become(uid_t real, uid_t effective, uid_t saved) {
  if (::setgroups(0, nullptr) != 0 || ::setresgid(kUser, kUser, kUser) != 0 ||
      ::setresuid(real, effective, saved) != 0 || ::prctl(PR_SET_DUMPABLE, 1) != 0) {
    ::_exit(1);
  }
}

void nothing() {}

}  // namespace

TEST_CASE("a process of the same user is valid until it ends") {
  Child child(nothing, [] { ::prctl(PR_SET_DUMPABLE, 0); });
  ProcessGuard guard = guard_of(child.pid());
  CHECK(guard.pid() == child.pid());
  CHECK(guard.credentials().uid == ::geteuid());
  CHECK(guard.state() == State::same);
  child.go_on();
  CHECK(guard.state() == State::same);
  CHECK_FALSE(guard.has_ended());
  child.end();
  CHECK(guard.has_ended());
  CHECK(guard.state() == State::ended);
  CHECK_FALSE(ProcessGuard::of_process(guard.pid()));
}

TEST_CASE("another user's process is valid as long as it has only that user's rights") {
  if (::geteuid() != 0) {
    return;
  }
  Child child([] { become(kUser, kUser, kUser); }, [] { ::prctl(PR_SET_DUMPABLE, 0); });
  ProcessGuard guard = guard_of(child.pid());
  CHECK(guard.credentials().uid == kUser);
  CHECK(guard.credentials().gid == kUser);
  CHECK(guard.state() == State::same);
  child.go_on();
  CHECK(guard.state() == State::changed);
  CHECK(guard.state() == State::changed);
  child.end();
  CHECK(guard.state() == State::changed);  // the change is permanent
}

TEST_CASE("another user's process is valid after its main thread has ended") {
  if (::geteuid() != 0) {
    return;
  }
  const Pipe ready;
  const pid_t pid = ::fork();
  if (pid == 0) {
    ::alarm(60);
    become(kUser, kUser, kUser);
    std::thread([&ready] {
      while (::access(("/proc/" + std::to_string(::getpid()) + "/maps").c_str(), R_OK) == 0 &&
             gpuprof::status_value(gpuprof::read_status_of(static_cast<uint32_t>(::getpid())), "VmSize")) {
        ::usleep(1000);
      }
      ready.put();
      ::pause();
    }).detach();
    ::syscall(SYS_exit, 0);  // ends only this thread, without unwinding the test's frames
  }
  ready.get();
  ProcessGuard guard = guard_of(pid);
  CHECK(guard.state() == State::same);
  ::kill(pid, SIGKILL);
  ::waitpid(pid, nullptr, 0);
  CHECK(guard.state() == State::ended);
}

TEST_CASE("a process that can regain another user's rights is not trusted") {
  if (::geteuid() != 0) {
    return;
  }
  Child saved([] { become(kUser, kUser, 0); }, nothing);
  CHECK(guard_of(saved.pid()).state() == State::changed);
  Child real([] { become(0, kUser, kUser); }, nothing);
  CHECK(guard_of(real.pid()).state() == State::changed);
}

TEST_CASE("a peer is identified as the process that connected") {
  std::array<int, 2> ends{};
  REQUIRE(::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends.data()) == 0);
  const UniqueFd one(ends[0]);
  const UniqueFd other(ends[1]);
  auto guard = ProcessGuard::of_peer(one.get());
  REQUIRE(guard);
  CHECK(guard->pid() == ::getpid());
  CHECK(guard->state() == State::same);
  CHECK_FALSE(ProcessGuard::of_peer(-1));
}

TEST_CASE("a guard of an ended process cannot be created") {
  Child child(nothing, nothing);
  const pid_t pid = child.pid();
  child.end();
  const auto guard = ProcessGuard::of_process(pid);
  REQUIRE_FALSE(guard);
  CHECK(guard.error().message.find("it has ended") != std::string::npos);
}
