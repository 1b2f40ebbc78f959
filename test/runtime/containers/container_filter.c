// container_filter COMMAND...: runs a command below a system call filter with the effect of Docker's and Kubernetes'
// default filter for a container without capabilities: what they forbid fails with EPERM, clone3 with ENOSYS. Old
// versions also forbid tracing, and so does this filter.
#define _GNU_SOURCE
#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
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
  mount_setattr_nr = 442
};

static const uint32_t forbidden[] = {
    // tracing and looking at other processes
    SYS_ptrace,
    SYS_process_vm_readv,
    SYS_process_vm_writev,
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
    SYS_swapon,
    SYS_swapoff,
    // the machine: memory policies, clocks, accounting
    SYS_mbind,
    SYS_set_mempolicy,
    SYS_get_mempolicy,
    SYS_move_pages,
    SYS_migrate_pages,
    SYS_clock_settime,
    SYS_clock_adjtime,
    SYS_adjtimex,
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
#endif
};

#define COUNT (sizeof(forbidden) / sizeof(forbidden[0]))
#define NAMESPACES \
  (CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNET)

int main(int argc, char** argv) {
  struct sock_filter code[2 * COUNT + 16];
  unsigned short n = 0;
  code[n++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr));
  for (size_t i = 0; i < COUNT; ++i) {
    code[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, forbidden[i], 0, 1);
    code[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM);
  }
  code[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, clone3_nr, 0, 1);
  code[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS);
  code[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_clone, 0, 3);
  code[n++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[0]));
  code[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, NAMESPACES, 0, 1);
  code[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM);
  code[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
  const struct sock_fprog filter = {n, code};
  if (argc < 2 || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
      prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter, 0, 0) != 0) {
    perror("container_filter");
    return 126;
  }
  execvp(argv[1], argv + 1);
  perror(argv[1]);
  return 127;
}
