#include "base/process/stranger.h"

#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/keyctl.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <initializer_list>
#include <mutex>
#include <span>
#include <utility>

#include "base/files/safe_open.h"
#include "base/process/children.h"
#include "base/process/close_range.h"
#include "base/process/pidfd.h"
#include "base/process/system_calls_arch.h"

namespace gpuprof {
namespace {

constexpr uid_t kNobody = 65534;
constexpr size_t kMostOwnThreads = 4096;
constexpr size_t kMostOwnChildren = 4096;

// What no stranger may do: act on other processes, connect, change files, change its rights, reach drivers, load code
// into the kernel.
constexpr long kForbidden[] = {
    SYS_ptrace,
    SYS_process_vm_readv,
    SYS_process_vm_writev,
    SYS_process_madvise,
    SYS_kill,
    SYS_tkill,
    SYS_tgkill,
    SYS_rt_sigqueueinfo,
    SYS_rt_tgsigqueueinfo,
    SYS_pidfd_open,
    SYS_pidfd_send_signal,
    SYS_pidfd_getfd,
    SYS_kcmp,
    SYS_setpriority,
    SYS_ioprio_set,
    SYS_sched_setscheduler,
    SYS_sched_setparam,
    SYS_sched_setattr,
    SYS_sched_setaffinity,
    SYS_socket,
    SYS_socketpair,
    SYS_connect,
    SYS_bind,
    SYS_listen,
    SYS_accept,
    SYS_accept4,
    SYS_ioctl,
    SYS_shmget,
    SYS_shmat,
    SYS_shmctl,
    SYS_msgget,
    SYS_msgsnd,
    SYS_msgrcv,
    SYS_msgctl,
    SYS_semget,
    SYS_semop,
    SYS_semtimedop,
    SYS_semctl,
    SYS_mq_open,
    SYS_mq_unlink,
    SYS_unlinkat,
    SYS_renameat,
    SYS_renameat2,
    SYS_mkdirat,
    SYS_linkat,
    SYS_symlinkat,
    SYS_fchmod,
    SYS_fchmodat,
    SYS_fchown,
    SYS_fchownat,
    SYS_mknodat,
    SYS_utimensat,
    SYS_truncate,
    SYS_ftruncate,
    SYS_fallocate,
    SYS_setxattr,
    SYS_lsetxattr,
    SYS_fsetxattr,
    SYS_removexattr,
    SYS_lremovexattr,
    SYS_fremovexattr,
    SYS_openat2,
    SYS_open_by_handle_at,
    SYS_name_to_handle_at,
    SYS_inotify_init1,
    SYS_fanotify_init,
    SYS_setuid,
    SYS_setgid,
    SYS_setreuid,
    SYS_setregid,
    SYS_setresuid,
    SYS_setresgid,
    SYS_setfsuid,
    SYS_setfsgid,
    SYS_setgroups,
    SYS_capset,
    SYS_setsid,
    SYS_setpgid,
    SYS_unshare,
    SYS_setns,
    SYS_chroot,
    SYS_pivot_root,
    SYS_mount,
    SYS_umount2,
    SYS_fsopen,
    SYS_fsconfig,
    SYS_fsmount,
    SYS_fspick,
    SYS_move_mount,
    SYS_open_tree,
    SYS_keyctl,
    SYS_add_key,
    SYS_request_key,
    SYS_bpf,
    SYS_perf_event_open,
    SYS_userfaultfd,
    SYS_io_uring_setup,
    SYS_io_uring_enter,
    SYS_io_uring_register,
    SYS_init_module,
    SYS_finit_module,
    SYS_delete_module,
    SYS_kexec_load,
    SYS_personality,
    SYS_sethostname,
    SYS_setdomainname,
    SYS_settimeofday,
    SYS_clock_settime,
    SYS_adjtimex,
    SYS_reboot,
    SYS_swapon,
    SYS_swapoff,
    SYS_quotactl,
    SYS_acct,
    SYS_syslog,
    SYS_vhangup,
    SYS_migrate_pages,
    SYS_move_pages,
    SYS_get_robust_list,
    SYS_flock,
    SYS_clock_adjtime,
    SYS_kexec_file_load,
    SYS_mount_setattr,
    SYS_sync,
    SYS_syncfs,
};
// The C library does without clone3 and without calls that are newer than these filters.
constexpr uint32_t kNewestKnownCall = 450;

// All that parsing needs: memory, reading of open descriptors, and the C library's exit.
constexpr long kHarmless[] = {
    SYS_read,          SYS_pread64,    SYS_lseek,        SYS_fstat,          SYS_close,
    SYS_munmap,        SYS_mremap,     SYS_brk,          SYS_madvise,        SYS_futex,
    SYS_clock_gettime, SYS_getrandom,  SYS_rt_sigreturn, SYS_rt_sigprocmask, SYS_restart_syscall,
    SYS_exit,          SYS_exit_group, SYS_recvmsg,      SYS_sched_yield,    SYS_gettid,
    SYS_setitimer,     SYS_getpid,
};

constexpr uint32_t kArgument =
    offsetof(seccomp_data, args);  // the low half of an argument, on little-endian processors
constexpr uint32_t kDeny = SECCOMP_RET_ERRNO | EPERM;
constexpr uint32_t kUnknown = SECCOMP_RET_ERRNO | ENOSYS;

// A program for the kernel's filter. Has room for all rules, because a fork's child must not allocate.
class Filter {
 public:
  Filter() {
    add(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, arch));
    skip_unless(BPF_JMP | BPF_JEQ | BPF_K, kAuditArch, 0, 1);
    jump_over(1);
    end(SECCOMP_RET_KILL_PROCESS);
    load_number();
    skip_unless(BPF_JMP | BPF_JGE | BPF_K, kNewestKnownCall, 0, 1);
    end(kUnknown);
  }

  // `decision` for each of these calls.
  void decide(std::span<const long> calls, uint32_t decision) {
    for (const long call : calls) {
      skip_unless(BPF_JMP | BPF_JEQ | BPF_K, static_cast<uint32_t>(call), 0, 1);
      end(decision);
    }
  }

  // `if_set` for the call if one of `bits` is set in its argument `index`, else `if_not`.
  void decide_by_bits(long call, unsigned index, uint32_t bits, uint32_t if_set, uint32_t if_not) {
    decide_by(BPF_JSET, call, index, bits, if_set, if_not);
  }

  // `if_equal` for the call with this value of argument `index`, else `if_not`.
  void decide_by_value(long call, unsigned index, uint32_t value, uint32_t if_equal, uint32_t if_not) {
    decide_by(BPF_JEQ, call, index, value, if_equal, if_not);
  }

  // Forbids the call if one of the bits is set in either argument, and allows it otherwise.
  void forbid_bits_in_two(long call, unsigned first, uint32_t first_bits, unsigned second, uint32_t second_bits) {
    skip_unless(BPF_JMP | BPF_JEQ | BPF_K, static_cast<uint32_t>(call), 0, 6);
    add(BPF_LD | BPF_W | BPF_ABS, kArgument + first * sizeof(uint64_t));
    skip_unless(BPF_JMP | BPF_JSET | BPF_K, first_bits, 2, 0);
    add(BPF_LD | BPF_W | BPF_ABS, kArgument + second * sizeof(uint64_t));
    skip_unless(BPF_JMP | BPF_JSET | BPF_K, second_bits, 0, 1);
    end(kDeny);
    end(SECCOMP_RET_ALLOW);
  }

  // Forbids the call with these values of argument `index`, and allows it with others. At most 200 values.
  void forbid_values(long call, unsigned index, std::initializer_list<int> values) {
    skip_unless(BPF_JMP | BPF_JEQ | BPF_K, static_cast<uint32_t>(call), 0, static_cast<uint8_t>(2 + 2 * values.size()));
    add(BPF_LD | BPF_W | BPF_ABS, kArgument + index * sizeof(uint64_t));
    for (const int value : values) {
      skip_unless(BPF_JMP | BPF_JEQ | BPF_K, static_cast<uint32_t>(value), 0, 1);
      end(kDeny);
    }
    end(SECCOMP_RET_ALLOW);
  }

  [[nodiscard]] bool install(uint32_t otherwise) {
    end(otherwise);
    const sock_fprog program{static_cast<unsigned short>(count_), rules_.data()};
    return count_ < rules_.size() && ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
  }

 private:
  void decide_by(int comparison, long call, unsigned index, uint32_t value, uint32_t if_true, uint32_t if_not) {
    skip_unless(BPF_JMP | BPF_JEQ | BPF_K, static_cast<uint32_t>(call), 0, 4);
    add(BPF_LD | BPF_W | BPF_ABS, kArgument + index * sizeof(uint64_t));
    skip_unless(BPF_JMP | comparison | BPF_K, value, 0, 1);
    end(if_true);
    end(if_not);
  }
  void add(int code, uint32_t value) { skip_unless(code, value, 0, 0); }
  void skip_unless(int code, uint32_t value, uint8_t if_true, uint8_t if_false) {
    if (count_ < rules_.size()) {
      rules_[count_++] = {static_cast<uint16_t>(code), if_true, if_false, value};
    }
  }
  void jump_over(uint32_t rules) { add(BPF_JMP | BPF_JA, rules); }
  void end(uint32_t decision) { add(BPF_RET | BPF_K, decision); }
  void load_number() { add(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)); }

  std::array<sock_filter, 640> rules_{};
  size_t count_ = 0;
};

bool forbid_harm() {
  Filter filter;
  constexpr long kNew[] = {SYS_clone3};
  constexpr uint32_t kNamespaces =
      CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWNET | CLONE_NEWIPC | CLONE_NEWUTS | CLONE_NEWCGROUP;
  constexpr uint32_t kWrites = O_WRONLY | O_RDWR | O_CREAT | O_TRUNC | O_APPEND;
  filter.decide(kForbidden, kDeny);
  filter.decide(kOlderForbidden, kDeny);
  filter.decide(kNew, kUnknown);
  filter.decide_by_bits(SYS_clone, 0, kNamespaces, kDeny, SECCOMP_RET_ALLOW);
  filter.decide_by_value(SYS_prlimit64, 0, 0, SECCOMP_RET_ALLOW, kDeny);  // only its own limits
  filter.decide_by_bits(SYS_openat, 2, kWrites, kDeny, SECCOMP_RET_ALLOW);
  for (const long open : kOlderOpens) {
    filter.decide_by_bits(open, 1, kWrites, kDeny, SECCOMP_RET_ALLOW);
  }
  // O_ASYNC and an owner of a descriptor would send signals. Locks would stop other processes.
  filter.forbid_values(
      SYS_fcntl, 1,
      {F_SETOWN, F_SETOWN_EX, F_SETSIG, F_SETLEASE, F_NOTIFY, F_SETLK, F_SETLKW, F_OFD_SETLK, F_OFD_SETLKW});
  return filter.install(SECCOMP_RET_ALLOW);
}

bool change_ids(uid_t id) {
  return ::syscall(SYS_setgroups, 0, nullptr) == 0 && ::syscall(SYS_setresgid, id, id, id) == 0 &&
         ::syscall(SYS_setresuid, id, id, id) == 0;
}

// Takes a uid of its own. Distributions and container managers assign no users from 0x70000000 on. Where this user is
// not mapped, the process becomes nobody. A user namespace that maps only root has no other user at all: there, root is
// the user who made it, and loses only the capabilities.
bool leave_root() {
  uint32_t random = 0;
  if (::getrandom(&random, sizeof random, 0) != sizeof random) {
    return false;
  }
  return change_ids(0x70000000U + random % 0x0fffffffU) || errno == EPERM || change_ids(kNobody) || errno == EINVAL;
}

bool drop_capabilities() {
  ::prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  std::array<__user_cap_data_struct, 2> none{};
  return ::syscall(SYS_capset, &header, none.data()) == 0;
}

std::mutex started_mutex;
std::vector<std::pair<int, pid_t>> started;  // pidfd and pid of the processes that run

void set_limit(int what, uint64_t most) {
  const rlimit limit{most, most};
  ::setrlimit(static_cast<__rlimit_resource>(what), &limit);
}

}  // namespace

bool become_stranger(const StrangerLimits& limits) {
  ::setsid();  // fails only for the leader of a session, which has none in common with others
  ::syscall(SYS_keyctl, KEYCTL_JOIN_SESSION_KEYRING, nullptr);  // fails where there are no keyrings
  if (::chdir("/") != 0 || (::geteuid() == 0 && !leave_root()) || !drop_capabilities() ||
      ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) {
    return false;
  }
  for (const auto& [what, most] : {std::pair(RLIMIT_CPU, limits.cpu_seconds),
                                   {RLIMIT_AS, limits.address_space},
                                   {RLIMIT_DATA, limits.private_memory}}) {
    if (most != 0) {
      set_limit(what, most);
    }
  }
  set_limit(RLIMIT_CORE, 1);  // 0 would not keep a crash handler from being started
  set_limit(RLIMIT_FSIZE, 0);
  return forbid_harm();
}

bool confine_to_answers(int socket) {
  Filter filter;
  filter.decide(kHarmless, SECCOMP_RET_ALLOW);
  // These kinds of memory are not limited like private memory.
  filter.forbid_bits_in_two(SYS_mmap, 2, PROT_EXEC, 3, (MAP_SHARED & ~MAP_PRIVATE) | MAP_GROWSDOWN | MAP_HUGETLB);
  filter.decide_by_bits(SYS_mprotect, 2, PROT_EXEC, kDeny, SECCOMP_RET_ALLOW);
  filter.decide_by_bits(SYS_newfstatat, 3, static_cast<uint32_t>(AT_EMPTY_PATH), SECCOMP_RET_ALLOW, kDeny);
  filter.decide_by_value(SYS_fcntl, 1, F_GETFD, SECCOMP_RET_ALLOW, kDeny);
  filter.decide_by_value(SYS_sendmsg, 0, static_cast<uint32_t>(socket), SECCOMP_RET_ALLOW, kDeny);
  filter.decide_by_value(SYS_write, 0, STDOUT_FILENO, SECCOMP_RET_ALLOW, kDeny);
  return ::prctl(PR_SET_DUMPABLE, 0) == 0 && filter.install(kDeny);
}

UniqueFd start_stranger(const StrangerProgram& program) {
  // These must not be overwritten when the child duplicates one of them to a small number.
  const UniqueFd data(::fcntl(program.data, F_DUPFD_CLOEXEC, kDataFd + 1));
  const UniqueFd null = open_device("/dev/null");
  const UniqueFd output(::fcntl(program.output < 0 ? null.get() : program.output, F_DUPFD_CLOEXEC, kDataFd + 1));
  std::vector<const char*> words = {program.program.c_str()};
  for (const std::string& argument : program.arguments) {
    words.push_back(argument.c_str());
  }
  words.push_back(nullptr);
  const std::array<const char*, 2> environment = {"LC_ALL=C", nullptr};
  const std::lock_guard lock(started_mutex);  // reap_children() must not see the process before it is in the list
  const pid_t pid = ::fork();
  if (pid > 0) {
    UniqueFd process = open_pidfd(pid);
    if (!process) {
      ::kill(pid, SIGKILL);
      ::waitpid(pid, nullptr, 0);
      return process;
    }
    started.emplace_back(process.get(), pid);
    return process;
  }
  if (pid < 0) {
    return {};
  }
  // Uses nothing that another thread may have locked during the fork.
  sigset_t none;
  sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  ::signal(SIGPIPE, SIG_DFL);
  if (::dup2(null.get(), 0) < 0 || ::dup2(output.get(), 1) < 0 || ::dup2(null.get(), 2) < 0 ||
      ::dup2(data.get(), kDataFd) < 0) {
    ::_exit(1);
  }
  close_between(kDataFd + 1, ~0U >> 1);
  // A change of ids clears the death signal, so that is set last.
  if (program.foreign && (!become_stranger(program.limits) || ::prctl(PR_SET_PDEATHSIG, SIGKILL) != 0)) {
    ::_exit(1);
  }
  ::execve(words[0], const_cast<char* const*>(words.data()), const_cast<char* const*>(environment.data()));
  ::_exit(127);
}

bool is_stranger(pid_t pid) {
  const std::lock_guard lock(started_mutex);
  return std::any_of(started.begin(), started.end(), [pid](const auto& one) { return one.second == pid; });
}

bool reap_children() {
  siginfo_t info{};
  if (::waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) != 0) {
    return false;
  }
  size_t tasks = kMostOwnThreads;
  std::vector<pid_t> children;
  add_children("/proc", ::getpid(), UINT64_MAX, {tasks, kMostOwnChildren}, children);
  bool others = children.empty();  // the kernel does not list them
  for (const pid_t child : children) {
    others |= !is_stranger(child) && ::waitpid(child, nullptr, WNOHANG) == 0;
  }
  return others;
}

void end_stranger(const UniqueFd& process) {
  siginfo_t info{};
  const auto fd = static_cast<id_t>(process.get());
  // Without CAP_KILL, root may not signal the process. It ends by itself, and waiting for that could take long.
  const bool may_kill = ::syscall(SYS_pidfd_send_signal, process.get(), SIGKILL, nullptr, 0) == 0 || errno != EPERM;
  // As long as nobody has reaped the process, its process group is its own.
  const bool has_ended = may_kill && ::waitid(static_cast<idtype_t>(P_PIDFD), fd, &info, WEXITED | WNOWAIT) == 0;
  if (has_ended) {
    ::kill(-info.si_pid, SIGKILL);
  }
  const std::lock_guard lock(started_mutex);
  if (has_ended) {
    ::waitid(static_cast<idtype_t>(P_PIDFD), fd, &info, WEXITED);
  }
  std::erase_if(started, [&process](const auto& one) { return one.first == process.get(); });
}

}  // namespace gpuprof
