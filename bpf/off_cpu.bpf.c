/*
 * Reports when threads that launch GPU work do not run, why, and from which stack.
 *
 * on_switch runs when a thread leaves its CPU, and notes the time and the reason. on_switched_in runs when the thread
 * gets a CPU again. Only then it is known whether the time was long enough to walk the stack. The stack has not changed
 * meanwhile. on_waking splits the time into waiting for something, and waiting for a CPU.
 *
 * The kernel may hold the lock of a run queue, so walks are short, and nothing wakes the recorder.
 */
/* The order matters: bpf_helpers.h uses types of vmlinux_min.h without including it. */
/* clang-format off */
#include "vmlinux_min.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>
/* clang-format on */

#include "launch_events.h"
#include "loader.h"
#include "python_threads.h"
#include "stack_of_kernel.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

#define TASK_STOPPED 0x4
#define TASK_TRACED 0x8
#define PF_MEMALLOC 0x800
#define MAX_CGROUP_LEVELS 8

/* What is known about a thread of a recorded process. */
struct off_cpu {
  __u64 off_ns; /* 0: it runs */
  __u64 woken_ns;
  __u64 throttled_ns; /* see throttled_ns() */
  __u64 python;       /* the PyThreadState that was found last */
  __u32 state;        /* enum gpuprof_off_cpu_state */
  __u32 system_call;
};

struct {
  __uint(type, BPF_MAP_TYPE_TASK_STORAGE);
  __uint(map_flags, BPF_F_NO_PREALLOC);
  __type(key, int);
  __type(value, struct off_cpu);
} off_cpus SEC(".maps");

/* The threads to report. The recorder writes it. */
struct {
  __uint(type, BPF_MAP_TYPE_HASH);
  __uint(max_entries, GPUPROF_BPF_MAX_FEEDERS);
  __type(key, struct gpuprof_bpf_feeder);
  __type(value, __u8);
} feeders SEC(".maps");

/* Returns how long the cgroups of the thread have been throttled so far: the longest time of them. */
static __always_inline __u64 throttled_ns(struct task_struct* task) {
  __u64 longest = 0;
  if (!bpf_core_field_exists(task->sched_task_group)) {
    return 0;
  }
  struct task_group* group = BPF_CORE_READ(task, sched_task_group);
  for (int i = 0; i < MAX_CGROUP_LEVELS && group; ++i) {
    __u64 ns = bpf_core_field_exists(group->cfs_bandwidth) ? BPF_CORE_READ(group, cfs_bandwidth.throttled_time) : 0;
    longest = ns > longest ? ns : longest;
    group = BPF_CORE_READ(group, parent);
  }
  return longest;
}

/* Returns the thread's id as its process sees it: that of its innermost pid namespace. */
static __always_inline __u32 own_tid(struct task_struct* task) {
  struct pid* pid = BPF_CORE_READ(task, thread_pid);
  unsigned int level = BPF_CORE_READ(pid, level);
  struct upid* at =
      (struct upid*)((char*)pid + bpf_core_field_offset(struct pid, numbers) + level * bpf_core_type_size(struct upid));
  return BPF_CORE_READ(at, nr);
}

static __always_inline int is_feeder(__u32 pid, __u32 tid) {
  struct gpuprof_bpf_feeder key = {pid, tid};
  return bpf_map_lookup_elem(&feeders, &key) != 0;
}

static __always_inline void send(__u32 pid, __u32 tid, const struct off_cpu* off, __u64 in_ns, __u64 throttled,
                                 __u64 stack) {
  struct gpuprof_bpf_off_cpu* event = bpf_ringbuf_reserve(&events, sizeof(*event), 0);
  if (!event) {
    count_loss(GPUPROF_BPF_LOST_OFF_CPU);
    return;
  }
  event->type = GPUPROF_BPF_OFF_CPU;
  event->pid = pid;
  event->tid = tid;
  event->state = off->state;
  event->off_ns = off->off_ns;
  event->woken_ns = off->woken_ns;
  event->in_ns = in_ns;
  event->throttled_ns = throttled;
  event->stack = stack;
  event->system_call = off->system_call;
  event->pad = 0;
  bpf_ringbuf_submit(event, BPF_RB_NO_WAKEUP);
}

static __always_inline __u32 state_of(struct task_struct* task, int preempted, __u32 kernel_state) {
  if (preempted || kernel_state == 0) {
    return 0;
  }
  return GPUPROF_OFF_CPU_BLOCKED | (kernel_state & (TASK_STOPPED | TASK_TRACED) ? GPUPROF_OFF_CPU_STOPPED : 0) |
         (BPF_CORE_READ_BITFIELD_PROBED(task, in_iowait) ? GPUPROF_OFF_CPU_IO : 0) |
         (task->flags & PF_MEMALLOC ? GPUPROF_OFF_CPU_RECLAIM : 0);
}

/* Arguments: bool preempted, the thread that leaves the CPU, the thread that gets it, and the state of the first (since
 * Linux 5.18). The first is still the current thread. */
SEC("tp_btf/sched_switch")
int on_switch(__u64* ctx) {
  struct task_struct* task = (struct task_struct*)ctx[1];
  if (!task->mm) { /* a kernel thread, or a thread that ends */
    return 0;
  }
  __u32 pid = ids_of_thread() >> 32;
  if (!pid || !bpf_map_lookup_elem(&processes, &pid)) {
    return 0;
  }
  struct off_cpu* off = bpf_task_storage_get(&off_cpus, task, 0, BPF_LOCAL_STORAGE_GET_F_CREATE);
  if (!off) {
    count_loss(GPUPROF_BPF_LOST_OFF_CPU);
    return 0;
  }
  if (off->off_ns) { /* on_switched_in did not run */
    count_loss(GPUPROF_BPF_LOST_OFF_CPU);
  }
  struct pt_regs* regs = (struct pt_regs*)bpf_task_pt_regs(task);
  off->woken_ns = 0;
  off->throttled_ns = is_feeder(pid, own_tid(task)) ? throttled_ns(task) : ~0ULL; /* unknown */
  off->state = state_of(task, ctx[0] & 1, (__u32)ctx[3]);
  off->system_call = GPUPROF_SYSTEM_CALL(regs);
  off->off_ns = bpf_ktime_get_ns();
  return 0;
}

/* Runs in a thread that ends. */
SEC("tp_btf/sched_process_exit")
int on_exit(__u64* ctx) {
  __u32 pid = ids_of_thread() >> 32;
  __u32 tid = own_tid((struct task_struct*)bpf_get_current_task_btf());
  if (pid && is_feeder(pid, tid)) {
    struct off_cpu ended = {.state = GPUPROF_OFF_CPU_ENDED};
    send(pid, tid, &ended, 0, 0, 0);
  }
  return 0;
}

/* Argument: the thread that is woken. */
SEC("tp_btf/sched_waking")
int on_waking(__u64* ctx) {
  struct task_struct* task = (struct task_struct*)ctx[0];
  struct off_cpu* off = bpf_task_storage_get(&off_cpus, task, 0, 0);
  if (off && off->off_ns && !off->woken_ns) {
    off->woken_ns = bpf_ktime_get_ns();
  }
  return 0;
}

/* Finds the PyThreadState of the current thread. A search reads up to two words of each thread, so the last result is
 * tried first. */
static __always_inline __u64 python_of(struct off_cpu* off, const struct gpuprof_bpf_process* process) {
  __u64 ident = 0;
  if (off->python && process->python_threads.interpreter &&
      read_user(&ident, sizeof(ident), off->python + process->python_threads.ident) == 0 &&
      ident == GPUPROF_THREAD_POINTER(bpf_get_current_task_btf())) {
    return off->python;
  }
  off->python = find_thread(process);
  return off->python;
}

static __always_inline __u64 stack_of(void* ctx, __u32 pid, struct off_cpu* off) {
  struct slot* slot = take_slot_of(&slots);
  if (!slot) {
    count_loss(GPUPROF_BPF_LOST_READ);
    return 0;
  }
  const struct gpuprof_bpf_process* process = bpf_map_lookup_elem(&processes, &pid);
  struct walk_from from = {pid, 0, pid, process ? python_of(off, process) : 0};
  walk_stack((struct pt_regs*)bpf_task_pt_regs(bpf_get_current_task_btf()), slot, &from, process);
  add_kernel_stack(ctx, slot);
  __u64 id = stack_id(slot, pid);
  release_slot(slot);
  return id;
}

/* A thread runs it when it has got a CPU. */
static __always_inline int switched_in(void* ctx) {
  struct task_struct* task = (struct task_struct*)bpf_get_current_task_btf();
  struct off_cpu* off = bpf_task_storage_get(&off_cpus, task, 0, 0);
  if (!off || !off->off_ns) {
    return 0;
  }
  __u64 now = bpf_ktime_get_ns();
  struct off_cpu was = *off;
  off->off_ns = 0;
  __u32 pid = ids_of_thread() >> 32;
  __u32 tid = own_tid(task);
  if (!is_feeder(pid, tid)) {
    return 0;
  }
  if (now - was.off_ns < GPUPROF_SHORTEST_OFF_CPU_NS) {
    count_loss(GPUPROF_BPF_SHORT_OFF_CPU);
    __u32 sum = GPUPROF_BPF_SHORT_OFF_CPU_NS;
    __u64* ns = bpf_map_lookup_elem(&losses, &sum);
    if (ns) {
      __sync_fetch_and_add(ns, now - was.off_ns);
    }
    return 0;
  }
  __u64 throttled = throttled_ns(task);
  throttled = throttled > was.throttled_ns ? throttled - was.throttled_ns : 0;
  send(pid, tid, &was, now, throttled, stack_of(ctx, pid, off));
  return 0;
}

/* For sched_exit_tp, which Linux 6.15 added. */
SEC("raw_tp")
int on_switched_in(struct bpf_raw_tracepoint_args* ctx) {
  return switched_in(ctx);
}

/* For finish_task_switch() of older kernels. */
SEC("kprobe")
int on_finish_switch(struct pt_regs* ctx) {
  return switched_in(ctx);
}
