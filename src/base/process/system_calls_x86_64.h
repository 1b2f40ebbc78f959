// System calls that only x86-64 has, and how seccomp names the processor.
#pragma once

#include <linux/audit.h>
#include <sys/syscall.h>

#include <cstdint>

namespace gpuprof {

inline constexpr uint32_t kAuditArch = AUDIT_ARCH_X86_64;

// Calls that other processors have only with a folder's descriptor, and calls of this processor alone.
inline constexpr long kOlderForbidden[] = {
    SYS_creat,   SYS_unlink,    SYS_rename,       SYS_mkdir,  SYS_rmdir, SYS_link,
    SYS_symlink, SYS_chmod,     SYS_chown,        SYS_lchown, SYS_mknod, SYS_utimes,
    SYS_utime,   SYS_futimesat, SYS_inotify_init, SYS_ioperm, SYS_iopl,  SYS_modify_ldt,
};
inline constexpr long kOlderOpens[] = {SYS_open};

// Calls that other processors have only with a signal mask.
inline constexpr long kOlderPolls[] = {SYS_poll, SYS_select};
inline constexpr long kOlderEventPolls[] = {SYS_epoll_wait};
inline constexpr long kOlderPauses[] = {SYS_pause};

}  // namespace gpuprof
