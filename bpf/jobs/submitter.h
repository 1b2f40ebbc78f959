/* Identifies the calling thread, and finds out whether its process is recorded. Include after <bpf/bpf_core_read.h>. */
#ifndef GPUPROF_SUBMITTER_H
#define GPUPROF_SUBMITTER_H

#include "launch_events.h"

#define MAX_GENERATIONS 32 /* limit on the steps from a process up to config.root */
#define MAX_PID_LEVELS 8

struct submitter {
  __u64 image; /* differs for each program that runs under this pid */
  __u32 pid;
  __u32 tid;
};

/* Returns the process id in the recorder's pid namespace; 0: the process is outside that namespace. */
static __always_inline int pid_of(struct task_struct* task) {
  if (!config.pidns_inode) {
    return BPF_CORE_READ(task, tgid);
  }
  struct pid* pid = BPF_CORE_READ(task, group_leader, thread_pid);
  unsigned int level = BPF_CORE_READ(pid, level);
  for (unsigned int i = 0; i < MAX_PID_LEVELS && i <= level; ++i) {
    struct upid* at =
        (struct upid*)((char*)pid + bpf_core_field_offset(struct pid, numbers) + i * bpf_core_type_size(struct upid));
    if (BPF_CORE_READ(at, ns, ns.inum) == config.pidns_inode) {
      return BPF_CORE_READ(at, nr);
    }
  }
  return 0;
}

/* Returns whether the process descends from the recorded program. BPF checks this, because the recorder may be too
 * late: when a process has ended, its ancestors can no longer be found. */
static __always_inline int descends_from_root(struct task_struct* task) {
  for (int i = 0; i < MAX_GENERATIONS; ++i) {
    if ((__u32)pid_of(task) == config.root) {
      return 1;
    }
    if (BPF_CORE_READ(task, tgid) <= 1) {
      return 0;
    }
    task = BPF_CORE_READ(task, real_parent);
  }
  return 0;
}

enum submitter_kind {
  SUBMITTER_RECORDED,
  SUBMITTER_OTHER,
  SUBMITTER_KERNEL /* a kernel thread that works for some process */
};

static __always_inline enum submitter_kind find_submitter(struct submitter* submitter) {
  struct task_struct* task = (struct task_struct*)bpf_get_current_task_btf();
  if (!BPF_CORE_READ(task, mm)) {
    return SUBMITTER_KERNEL;
  }
  __u64 ids = ids_of_thread();
  if (!ids || !descends_from_root(task)) {
    return SUBMITTER_OTHER;
  }
  struct task_struct* leader = BPF_CORE_READ(task, group_leader);
  submitter->image = mix(BPF_CORE_READ(leader, start_boottime), BPF_CORE_READ(leader, self_exec_id));
  submitter->pid = ids >> 32;
  submitter->tid = (__u32)ids;
  return SUBMITTER_RECORDED;
}

#endif
