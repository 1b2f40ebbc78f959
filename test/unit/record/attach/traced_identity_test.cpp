#include "record/attach/traced_identity.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "catch.h"

using gpuprof::record::TracedIdentity;

namespace {

// A child that sleeps. On SIGUSR1 it executes the program sleep(1).
class Child {
 public:
  Child() {
    // The child inherits the handler, so it has one from its start.
    const auto before = ::signal(SIGUSR1, [](int) { ::execl("/bin/sleep", "sleep", "60", nullptr); });
    pid_ = ::fork();
    if (pid_ == 0) {
      ::sleep(60);
      ::_exit(0);
    }
    ::signal(SIGUSR1, before);
  }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;
  ~Child() { end(); }
  [[nodiscard]] uint32_t pid() const { return static_cast<uint32_t>(pid_); }
  void send(int signal) const { ::kill(pid_, signal); }
  void end() {
    if (pid_ > 0) {
      ::kill(pid_, SIGKILL);
      ::waitpid(pid_, nullptr, 0);
      pid_ = 0;
    }
  }

 private:
  pid_t pid_ = 0;
};

std::string until_different(const TracedIdentity& identity) {
  for (int i = 0; i < 12000; ++i) {
    if (const auto same = identity.check(); !same) {
      return same.error().message;
    }
    ::usleep(5000);
  }
  return {};
}

}  // namespace

TEST_CASE("the identity of a process is valid until it ends") {
  Child child;
  const auto identity = TracedIdentity::of(child.pid());
  REQUIRE(identity.ok());
  CHECK(identity->check().ok());
  CHECK(identity->check(static_cast<pid_t>(child.pid())).ok());
  CHECK_FALSE(identity->has_ended());
  child.end();
  CHECK(identity->has_ended());
  CHECK(until_different(*identity) == "process " + std::to_string(identity->pid()) + " has ended");
}

TEST_CASE("a process that executes another program has another identity") {
  const Child child;
  const auto identity = TracedIdentity::of(child.pid());
  REQUIRE(identity.ok());
  child.send(SIGUSR1);
  CHECK(until_different(*identity).find("executed another program") != std::string::npos);
}

TEST_CASE("a missing process is an error") {
  CHECK(TracedIdentity::of(4194303).error().message == "no process 4194303");
}
