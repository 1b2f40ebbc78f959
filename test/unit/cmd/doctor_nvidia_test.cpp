#include "catch.h"
#include "cmd/doctor/facts.h"
#include "machine.h"

namespace gpuprof::cmd {
namespace {

constexpr const char* kVersion =
    "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  535.183.01  Release Build  (dvs)\nGCC version:  gcc 12\n";

std::string nothing(const char* /*name*/) {
  return {};
}

Fact nvidia(const Machine& machine, const char* name, const char* capabilities = "0") {
  return find(nvidia_facts(machine.root(), with(capabilities), nothing), name);
}

TEST_CASE("access to performance counters is read from the driver's parameters") {
  const Machine machine;
  CHECK(nvidia(machine, "performance counters").state == State::info);
  machine.file("/proc/driver/nvidia/params", "ResmanDebugLevel: 4294967295\nRmProfilingAdminOnly: 1\n");
  CHECK(nvidia(machine, "performance counters").state == State::limited);
  CHECK(nvidia(machine, "performance counters", "200000").state == State::ok);  // the user has CAP_SYS_ADMIN
  machine.file("/proc/driver/nvidia/params", "RmProfilingAdminOnly: 0\n");
  CHECK(nvidia(machine, "performance counters").state == State::ok);
}

TEST_CASE("a libcupti that is too new for the driver is reported") {
  const Machine machine;
  CHECK(nvidia(machine, "libcupti and driver").state == State::info);
  machine.file("/proc/driver/nvidia/version", kVersion);
  CHECK(nvidia(machine, "libcupti and driver").state == State::info);
  machine.file("/usr/local/cuda-13.0/extras/CUPTI/lib64/libcupti.so.13", "");
  const Fact fact = nvidia(machine, "libcupti and driver");
  CHECK(fact.state == State::missing);
  CHECK(fact.detail.find("driver 535") != std::string::npos);
  machine.file("/usr/local/cuda-12.2/extras/CUPTI/lib64/libcupti.so.12", "");
  CHECK(nvidia(machine, "libcupti and driver").state == State::ok);
}

TEST_CASE("other profilers are found by their process names") {
  const Machine machine;
  machine.file("/proc/17/comm", "bash\n");
  CHECK(nvidia(machine, "other profilers").state == State::ok);
  machine.file("/proc/4711/comm", "nv-hostengine\n");
  machine.file("/proc/uptime/comm", "nsys\n");  // this folder of /proc does not belong to a process
  const Fact fact = nvidia(machine, "other profilers");
  CHECK(fact.state == State::limited);
  CHECK(fact.detail.find("nv-hostengine (process 4711)") == 0);
  CHECK(fact.detail.find("nsys") == std::string::npos);
}

TEST_CASE("injection variables that are already set are reported") {
  const Machine machine;
  const auto facts = nvidia_facts(machine.root(), with("0"), [](const char* name) {
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
