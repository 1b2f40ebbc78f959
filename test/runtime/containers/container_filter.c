// container_filter [--old] COMMAND...: runs a command below a system call filter with the effect of Docker's and
// Kubernetes' default filter (github.com/moby/profiles, seccomp/default.json, 2025) for a container without
// CAP_SYS_ADMIN. What the default does not allow on x86-64 is forbidden here. It fails with EPERM, but clone3 and
// unknown system calls with ENOSYS. --old: also forbids tracing, as versions for kernels before 4.8 do.
#define _GNU_SOURCE
#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

// System calls that the C library's headers may not know. Numbers from 424 on are the same on all architectures.
enum {
  io_uring_setup_nr = 425,
  io_uring_enter_nr,
  io_uring_register_nr,
  open_tree_nr,
  move_mount_nr,
  fsopen_nr,
  fsconfig_nr,
  fsmount_nr,
  fspick_nr,
  clone3_nr = 435,
  pidfd_getfd_nr = 438,
  process_madvise_nr = 440,
  mount_setattr_nr = 442,
  quotactl_fd_nr = 443,
  set_mempolicy_home_node_nr = 450,
  lsm_get_self_attr_nr = 459,
  lsm_set_self_attr_nr,
  lsm_list_modules_nr,
  newest_nr = 466, /* removexattrat, the newest that the default knows */
  uprobe_nr = 336, /* x86-64 */
};

static const uint32_t tracing[] = {SYS_ptrace, SYS_process_vm_readv, SYS_process_vm_writev};

static const uint32_t forbidden[] = {
    // looking at other processes
    SYS_kcmp,
    pidfd_getfd_nr,
    process_madvise_nr,
    // measuring, and loading code into the kernel
    SYS_perf_event_open,
    SYS_bpf,
    SYS_init_module,
    SYS_finit_module,
    SYS_delete_module,
    SYS_kexec_load,
    SYS_lookup_dcookie,
    SYS_syslog,
    SYS_fanotify_init,
    SYS_userfaultfd,
    io_uring_setup_nr,
    io_uring_enter_nr,
    io_uring_register_nr,
    // keys, namespaces, mounts
    SYS_add_key,
    SYS_request_key,
    SYS_keyctl,
    SYS_unshare,
    SYS_setns,
    SYS_mount,
    SYS_umount2,
    SYS_pivot_root,
    open_tree_nr,
    move_mount_nr,
    fsopen_nr,
    fsconfig_nr,
    fsmount_nr,
    fspick_nr,
    mount_setattr_nr,
    SYS_open_by_handle_at,
    SYS_quotactl,
    quotactl_fd_nr,
    SYS_nfsservctl,
    SYS_swapon,
    SYS_swapoff,
    // the machine: security modules, memory policies, clocks, accounting
    lsm_get_self_attr_nr,
    lsm_set_self_attr_nr,
    lsm_list_modules_nr,
    set_mempolicy_home_node_nr,
    SYS_mbind,
    SYS_set_mempolicy,
    SYS_get_mempolicy,
    SYS_move_pages,
    SYS_migrate_pages,
    SYS_clock_settime,
    SYS_settimeofday,
    SYS_acct,
    SYS_reboot,
    SYS_sethostname,
    SYS_setdomainname,
    SYS_vhangup,
#ifdef __x86_64__
    SYS_ioperm,
    SYS_iopl,
    SYS_uselib,
    SYS_ustat,
    SYS_sysfs,
    SYS_kexec_file_load,
    uprobe_nr,
#endif
};

#define COUNT(list) (sizeof(list) / sizeof((list)[0]))
#define LOAD(field) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, field))
#define FAIL(error) BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | (error))
// Skips `skipped` instructions unless the comparison holds.
#define UNLESS(comparison, value, skipped) BPF_JUMP(BPF_JMP | (comparison) | BPF_K, value, 0, skipped)
#define NAMESPACES \
  (CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNET)

static unsigned short forbid(const uint32_t* list, size_t count, struct sock_filter* code) {
  for (size_t i = 0; i < count; ++i) {
    code[2 * i] = (struct sock_filter)UNLESS(BPF_JEQ, list[i], 1);
    code[2 * i + 1] = (struct sock_filter)FAIL(EPERM);
  }
  return (unsigned short)(2 * count);
}

int main(int argc, char** argv) {
  // Of sockets, the default forbids AF_ALG (38), AF_VSOCK (40) and some that the kernel has no more. Of personalities,
  // it allows those that change nothing or only what uname() returns, and asking for the present one.
  static const struct sock_filter rest[] = {
      UNLESS(BPF_JGT, newest_nr, 1),
      FAIL(ENOSYS),  // unknown
      UNLESS(BPF_JEQ, clone3_nr, 1),
      FAIL(ENOSYS),  //
      UNLESS(BPF_JEQ, SYS_clone, 4),
      LOAD(args[0]),
      UNLESS(BPF_JSET, NAMESPACES, 1),
      FAIL(EPERM),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),  //
      UNLESS(BPF_JEQ, SYS_socket, 6),
      LOAD(args[0]),
      UNLESS(BPF_JEQ, 38, 1),
      FAIL(EPERM),
      UNLESS(BPF_JEQ, 40, 1),
      FAIL(EPERM),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),  //
      UNLESS(BPF_JEQ, SYS_personality, 4),
      LOAD(args[0]),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 0xffffffff, 2, 0),
      UNLESS(BPF_JSET, ~(uint32_t)0x20008, 1),
      FAIL(EPERM),  //
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  struct sock_filter code[2 * (COUNT(forbidden) + COUNT(tracing)) + 1 + COUNT(rest)];
  const int old = argc > 1 && strcmp(argv[1], "--old") == 0;
  unsigned short n = 0;
  code[n++] = (struct sock_filter)LOAD(nr);
  n += forbid(forbidden, COUNT(forbidden), code + n);
  n += old ? forbid(tracing, COUNT(tracing), code + n) : 0;
  memcpy(code + n, rest, sizeof(rest));
  n += COUNT(rest);
  const struct sock_fprog filter = {n, code};
  char** const command = argv + 1 + old;
  if (*command == NULL || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
      prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter, 0, 0) != 0) {
    perror("container_filter");
    return 126;
  }
  execvp(command[0], command);
  perror(command[0]);
  return 127;
}
