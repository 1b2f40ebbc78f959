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

#define FUTEX_OPERATION 0x7f
/* A bit for each operation: WAKE, REQUEUE, CMP_REQUEUE, WAKE_OP, UNLOCK_PI, WAKE_BITSET. */
#define FUTEX_WAKES (1U << 1 | 1U << 3 | 1U << 4 | 1U << 5 | 1U << 7 | 1U << 10)
#define NEGATIVE_NS 1000000000ULL /* for so long, a search without a result counts */

/* The last search of a thread's PyThreadState. */
struct python_search {
  __u64 state;  /* 0: it has none */
  __u64 newest; /* the newest PyThreadState of the process, and its thread */
  __u64 newest_ident;
  __u64 time_ns; /* 0: the search failed */
};

/* What is known about a thread of a recorded process. */
struct off_cpu {
  __u64 off_ns; /* 0: it runs */
  __u64 woken_ns;
  __u64 throttled_ns; /* see throttled_ns(); ~0: the thread is not in `feeders` */
  __u32 state;        /* enum gpuprof_off_cpu_state */
  __u32 system_call;
  __u64 futex; /* the first argument of the system call */
  __u64 waker_stack;
  __u32 pid;
  __u32 pad;
  char waker[16]; /* name of the thread that woke it; empty: unknown */
  struct python_search python;
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
  event->waker_stack = off->waker_stack;
  __builtin_memcpy(event->waker, off->waker, sizeof(event->waker));
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
  off->waker_stack = 0;
  off->waker[0] = 0;
  off->pid = pid;
  off->throttled_ns = is_feeder(pid, own_tid(task)) ? throttled_ns(task) : ~0ULL; /* unknown */
  off->state = state_of(task, ctx[0] & 1, (__u32)ctx[3]);
  off->system_call = GPUPROF_SYSTEM_CALL(regs);
  off->futex = GPUPROF_ARG1(regs);
  off->off_ns = bpf_ktime_get_ns();
  return 0;
}

/* Runs in a thread that ends. */
SEC("tp_btf/sched_process_exit")
int on_exit(__u64* ctx) {
  __u32 pid = ids_of_thread() >> 32;
  __u32 tid = own_tid((struct task_struct*)bpf_get_current_task_btf());
  /* The recorder may not have put a thread that lives for a short time into `feeders` yet. */
  if (pid && bpf_map_lookup_elem(&processes, &pid)) {
    struct off_cpu ended = {.state = GPUPROF_OFF_CPU_ENDED};
    send(pid, tid, &ended, 0, 0, 0);
  }
  return 0;
}

static __always_inline __u64 ident_of(const struct gpuprof_python_threads* threads, __u64 state) {
  __u64 ident = 0;
  return state && read_user(&ident, sizeof(ident), state + threads->ident) == 0 ? ident : 0;
}

/* Finds the PyThreadState of the current thread. A search reads up to two words of each thread, so the last result is
 * tried first. If the last search found none, the thread has none until the list of threads begins with another one.
 * Another may be at the same address: so a search without a result counts for a short time only. */
static __always_inline __u64 python_of(struct python_search* last, const struct gpuprof_bpf_process* process) {
  const struct gpuprof_python_threads* threads = &process->python_threads;
  if (!threads->interpreter) {
    return 0;
  }
  if (last->state &&
      GPUPROF_IS_PTHREAD(ident_of(threads, last->state), GPUPROF_THREAD_POINTER(bpf_get_current_task_btf()))) {
    return last->state;
  }
  __u64 now = bpf_ktime_get_ns();
  __u64 newest = newest_thread(threads);
  __u64 newest_ident = ident_of(threads, newest);
  if (!last->state && last->newest == newest && last->newest_ident == newest_ident &&
      now - last->time_ns < NEGATIVE_NS) {
    return 0;
  }
  __u64 failed = 0;
  last->newest = newest;
  last->newest_ident = newest_ident;
  last->state = find_thread(process, &failed);
  last->time_ns = failed ? 0 : now;
  return last->state;
}

/* Returns the stack of the current thread. `ctx`: the program's context; null: leave out the kernel's frames. */
static __always_inline __u64 stack_of(void* ctx, __u32 pid, struct off_cpu* off) {
  struct slot* slot = take_slot_of(&slots);
  if (!slot) {
    count_loss(GPUPROF_BPF_LOST_READ);
    return 0;
  }
  const struct gpuprof_bpf_process* process = bpf_map_lookup_elem(&processes, &pid);
  struct walk_from from = {pid, 0, pid, process ? python_of(&off->python, process) : 0};
  walk_stack((struct pt_regs*)bpf_task_pt_regs(bpf_get_current_task_btf()), slot, &from, process);
  if (ctx) {
    add_kernel_stack(ctx, slot);
  }
  __u64 id = stack_id(slot, pid);
  release_slot(slot);
  return id;
}

/* Returns whether the system call of the current thread wakes those that wait for the futex of `off`. A futex is also
 * woken by a timer, whose interrupt has nothing to do with the current thread. So the addresses must agree. */
static __always_inline int wakes_futex(const struct off_cpu* off) {
  struct task_struct* task = (struct task_struct*)bpf_get_current_task_btf();
  struct pt_regs* regs = (struct pt_regs*)bpf_task_pt_regs(task);
  int number = GPUPROF_SYSTEM_CALL(regs);
  /* The end of a thread wakes who joins it. The C library keeps that futex near the thread pointer. */
  if (number == GPUPROF_SYS_EXIT) {
    return GPUPROF_IN_PTHREAD(off->futex, GPUPROF_THREAD_POINTER(task));
  }
  __u32 operation = (__u32)GPUPROF_ARG2(regs) & FUTEX_OPERATION;
  return number == GPUPROF_SYS_FUTEX && operation < 32 && (1U << operation & FUTEX_WAKES) &&
         (GPUPROF_ARG1(regs) == off->futex || GPUPROF_ARG5(regs) == off->futex);
}

/* Notes the current thread as the one that wakes the thread of `off`, if both are of one process and it does. */
static __always_inline void note_waker(struct off_cpu* off) {
  struct task_struct* waker = (struct task_struct*)bpf_get_current_task_btf();
  __u32 pid = ids_of_thread() >> 32;
  if (pid != off->pid || !wakes_futex(off) || bpf_get_current_comm(off->waker, sizeof(off->waker)) != 0) {
    return;
  }
  struct off_cpu* own = bpf_task_storage_get(&off_cpus, waker, 0, BPF_LOCAL_STORAGE_GET_F_CREATE);
  off->waker_stack = own ? stack_of(0, pid, own) : 0;
}

/* Argument: the thread that is woken. */
SEC("tp_btf/sched_waking")
int on_waking(__u64* ctx) {
  struct task_struct* task = (struct task_struct*)ctx[0];
  struct off_cpu* off = bpf_task_storage_get(&off_cpus, task, 0, 0);
  if (!off || !off->off_ns || off->woken_ns) {
    return 0;
  }
  off->woken_ns = bpf_ktime_get_ns();
  if (off->system_call == GPUPROF_SYS_FUTEX && off->throttled_ns != ~0ULL &&
      off->woken_ns - off->off_ns >= GPUPROF_SHORTEST_OFF_CPU_NS) {
    note_waker(off);
  }
  return 0;
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
