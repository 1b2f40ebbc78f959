#include <filesystem>
#include <string_view>
#include <system_error>

#include "base/files/file.h"
#include "base/text/hints.h"
#include "cmd/doctor/facts.h"

namespace gpuprof::cmd {
namespace {

constexpr std::string_view kFirstPidNamespace = "pid:[4026531836]";  // initial PID namespace, the same on every Linux

std::string link(const std::string& path) {
  std::error_code error;
  return std::filesystem::read_symlink(path, error).string();
}

Fact ptrace_fact(const std::string& root, const Rights& rights) {
  const std::string scope = first_line(root + "/proc/sys/kernel/yama/ptrace_scope");
  const bool capable = rights.has(kCapSysPtrace);
  if (rights.ptrace_filtered) {
    return {"ptrace", State::missing, "a system call filter (seccomp) forbids ptrace: record -p only counts launches",
            hints::kOutsideContainer};
  }
  if (scope == "3") {
    return {"ptrace", State::missing,
            "kernel.yama.ptrace_scope is 3, which forbids ptrace: record -p only counts launches",
            hints::kPtraceForbidden};
  }
  if (capable) {
    return {"ptrace", State::ok, "record -p can load the injection library into running CUDA processes", ""};
  }
  if (scope.empty() || scope == "0") {
    return {"ptrace", State::limited, "record -p can attach only to your own processes", hints::kRightsForPtrace};
  }
  return {"ptrace", State::missing, "kernel.yama.ptrace_scope is " + scope + ": record -p only counts launches",
          hints::kPtraceScope};
}

Fact pid_namespace_fact(const std::string& root) {
  const std::string found = link(root + "/proc/self/ns/pid");
  if (found.empty() || found == kFirstPidNamespace) {
    return {"processes", State::ok, "all processes of the machine are visible", ""};
  }
  return {"processes", State::limited, "only processes of this container are visible",
          "to record others, run gpuprof on the host, or start the container with --pid=host"};
}

}  // namespace

std::vector<Fact> attach_facts(const std::string& root, const Rights& rights) {
  return {ptrace_fact(root, rights), pid_namespace_fact(root)};
}

}  // namespace gpuprof::cmd
