#include "catch.h"
#include "cmd/doctor/facts.h"
#include "machine.h"

namespace gpuprof::cmd {
namespace {

TEST_CASE("the right to attach depends on yama and CAP_SYS_PTRACE") {
  const Machine machine;
  const auto ptrace = [&](const char* capabilities) {
    return find(attach_facts(machine.root(), with(capabilities)), "ptrace").state;
  };
  constexpr const char* kNone = "0";
  constexpr const char* kPtrace = "80000";
  CHECK(ptrace(kNone) == State::limited);  // without yama a user can attach to the user's own processes
  CHECK(ptrace(kPtrace) == State::ok);
  machine.file("/proc/sys/kernel/yama/ptrace_scope", "1\n");
  CHECK(ptrace(kNone) == State::missing);
  CHECK(ptrace(kPtrace) == State::ok);
  machine.file("/proc/sys/kernel/yama/ptrace_scope", "3\n");
  CHECK(ptrace(kPtrace) == State::missing);
}

TEST_CASE("a container sees only its own processes") {
  const Machine host;
  host.link("/proc/self/ns/pid", "pid:[4026531836]");
  CHECK(find(attach_facts(host.root(), with("0")), "processes").state == State::ok);
  const Machine container;
  container.link("/proc/self/ns/pid", "pid:[4026532211]");
  const Fact fact = find(attach_facts(container.root(), with("0")), "processes");
  CHECK(fact.state == State::limited);
  CHECK(fact.hint.find("--pid=host") != std::string::npos);
}

}  // namespace
}  // namespace gpuprof::cmd
