#include "cmd/doctor_neighbours.h"

#include "catch.h"
#include "machine.h"

namespace gpuprof::cmd {
namespace {

constexpr const char* kVersion =
    "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  535.183.01  Release Build  (dvs)\nGCC version:  gcc 12\n";

Rights with(const char* capabilities) {
  return parse_rights("Name:\tx\nUid:\t1000\t1000\nCapEff:\t" + std::string(capabilities) + "\n",
                      "         0          0 4294967295\n");
}

std::string nothing(const char* /*name*/) {
  return {};
}

Fact neighbour(const Machine& machine, const char* name, const char* capabilities = "0") {
  return find(neighbour_facts(machine.root(), with(capabilities), nothing), name);
}

TEST_CASE("attaching follows yama and the capability") {
  const Machine machine;
  const auto ptrace = [&](const char* capabilities) {
    return find(attach_facts(machine.root(), with(capabilities)), "ptrace").state;
  };
  constexpr const char* kNone = "0";
  constexpr const char* kPtrace = "80000";
  CHECK(ptrace(kNone) == State::limited);  // no yama: one's own processes
  CHECK(ptrace(kPtrace) == State::ok);
  machine.file("/proc/sys/kernel/yama/ptrace_scope", "1\n");
  CHECK(ptrace(kNone) == State::missing);
  CHECK(ptrace(kPtrace) == State::ok);
  machine.file("/proc/sys/kernel/yama/ptrace_scope", "3\n");
  CHECK(ptrace(kPtrace) == State::missing);
}

TEST_CASE("a container sees its own processes only") {
  const Machine host;
  host.link("/proc/self/ns/pid", "pid:[4026531836]");
  CHECK(find(attach_facts(host.root(), with("0")), "processes").state == State::ok);
  const Machine container;
  container.link("/proc/self/ns/pid", "pid:[4026532211]");
  const Fact fact = find(attach_facts(container.root(), with("0")), "processes");
  CHECK(fact.state == State::limited);
  CHECK(fact.hint.find("--pid=host") != std::string::npos);
}

TEST_CASE("performance counters as the driver says") {
  const Machine machine;
  CHECK(neighbour(machine, "performance counters").state == State::info);
  machine.file("/proc/driver/nvidia/params", "ResmanDebugLevel: 4294967295\nRmProfilingAdminOnly: 1\n");
  CHECK(neighbour(machine, "performance counters").state == State::limited);
  CHECK(neighbour(machine, "performance counters", "200000").state == State::ok);  // CAP_SYS_ADMIN
  machine.file("/proc/driver/nvidia/params", "RmProfilingAdminOnly: 0\n");
  CHECK(neighbour(machine, "performance counters").state == State::ok);
}

TEST_CASE("a libcupti that is too new for the driver") {
  const Machine machine;
  CHECK(neighbour(machine, "libcupti and driver").state == State::info);
  machine.file("/proc/driver/nvidia/version", kVersion);
  CHECK(neighbour(machine, "libcupti and driver").state == State::info);
  machine.file("/usr/local/cuda-13.0/extras/CUPTI/lib64/libcupti.so.13", "");
  const Fact fact = neighbour(machine, "libcupti and driver");
  CHECK(fact.state == State::missing);
  CHECK(fact.detail.find("driver 535") != std::string::npos);
  machine.file("/usr/local/cuda-12.2/extras/CUPTI/lib64/libcupti.so.12", "");
  CHECK(neighbour(machine, "libcupti and driver").state == State::ok);
}

TEST_CASE("other profilers are found by their names") {
  const Machine machine;
  machine.file("/proc/17/comm", "bash\n");
  CHECK(neighbour(machine, "other profilers").state == State::ok);
  machine.file("/proc/4711/comm", "nv-hostengine\n");
  machine.file("/proc/uptime/comm", "nsys\n");  // no process
  const Fact fact = neighbour(machine, "other profilers");
  CHECK(fact.state == State::limited);
  CHECK(fact.detail.find("nv-hostengine (process 4711)") == 0);
  CHECK(fact.detail.find("nsys") == std::string::npos);
}

TEST_CASE("injection variables that are set already") {
  const Machine machine;
  const auto facts = neighbour_facts(machine.root(), with("0"), [](const char* name) {
    return std::string(name) == "NVTX_INJECTION64_PATH" ? std::string("/opt/tool.so") : std::string();
  });
  CHECK(find(facts, "CUDA_INJECTION64_PATH").state == State::ok);
  const Fact nvtx = find(facts, "NVTX_INJECTION64_PATH");
  CHECK(nvtx.state == State::limited);
  CHECK(nvtx.detail.find("/opt/tool.so") != std::string::npos);
  for (const Fact& fact : facts) {
    const bool needs_hint = fact.state == State::missing || fact.state == State::limited;
    CHECK(fact.hint.empty() != needs_hint);
  }
}

}  // namespace
}  // namespace gpuprof::cmd
