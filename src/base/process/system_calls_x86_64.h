// System calls that only x86-64 has, and how seccomp names the processor.
#pragma once

#include <linux/audit.h>
#include <sys/syscall.h>

#include <array>
#include <cstdint>

namespace gpuprof {

inline constexpr uint32_t kAuditArch = AUDIT_ARCH_X86_64;
// Numbers from here on call the x32 variant of a system call.
inline constexpr uint32_t kSystemCallsEnd = 0x40000000;

inline constexpr std::array<long, 13> kOlderWritingCalls = {
    SYS_creat, SYS_unlink, SYS_rename, SYS_mkdir, SYS_rmdir,  SYS_link,  SYS_symlink,
    SYS_chmod, SYS_chown,  SYS_lchown, SYS_mknod, SYS_utimes, SYS_utime,
};
inline constexpr long kOlderOpen = SYS_open;

}  // namespace gpuprof
