// Hints about missing rights or resources. All code that detects the same problem uses the same words.
#pragma once

#include <cerrno>
#include <string>
#include <utility>

namespace gpuprof::hints {

inline constexpr const char* kRunAsRoot = "run gpuprof as root";

// For eBPF. CAP_PERFMON should be enough for uprobes, but some kernels require more, for example 6.18.
inline constexpr const char* kRightsForBpf =
    "run gpuprof as root (sudo gpuprof record -p PID, or --user $USER -- COMMAND), or give the capabilities once: "
    "sudo setcap cap_sys_admin,cap_sys_ptrace+ep gpuprof (on kernels that allow uprobes with cap_bpf,cap_perfmon, "
    "give these instead of cap_sys_admin; 6.18 does not allow it)";

// For ptrace of processes of other users, and of the user's own processes if kernel.yama.ptrace_scope forbids it.
inline constexpr const char* kRightsForPtrace =
    "run gpuprof as root, or: sudo setcap cap_sys_ptrace+ep gpuprof; in a container, start it with CAP_SYS_PTRACE";
inline constexpr const char* kPtraceScope = "run gpuprof as root, or: sudo sysctl kernel.yama.ptrace_scope=0";
inline constexpr const char* kPtraceForbidden =
    "reboot with another value of kernel.yama.ptrace_scope, or start the program with gpuprof record -- COMMAND";

// For rights that root lacks in a container.
inline constexpr const char* kOutsideContainer =
    "run gpuprof outside of the container, or start the container with --privileged";

inline constexpr const char* kMoreFiles = "raise the limit on open files (ulimit -n)";
inline constexpr const char* kMoreProcesses = "raise the limit on processes (ulimit -u)";

inline constexpr const char* kLargerFiles = "raise the limit on the size of files (ulimit -f)";

// Returns the hint for a failed call that opens or writes a file. `otherwise`: if `error` is not about a limit.
inline std::string of_error(int error, std::string otherwise) {
  return error == EMFILE || error == ENFILE ? kMoreFiles : error == EFBIG ? kLargerFiles : std::move(otherwise);
}

inline constexpr const char* kBuildAgain = "the build is incomplete; build gpuprof again";
inline constexpr const char* kAskDoctor = "`gpuprof doctor` lists what can be recorded here";
inline constexpr const char* kNameLiveProcess = "check that the process is still running, and give its id";

}  // namespace gpuprof::hints
