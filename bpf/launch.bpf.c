/*
 * CPU stacks of GPU launches.
 *
 * on_launch_probe runs at gpuprof_launch_probe(correlation, source) in an injection library, on the launching
 * thread: the stack carries its correlation id, nothing is matched by time. on_launch_function runs at a launch
 * function (cudaLaunchKernel, clEnqueueNDRangeKernel, ...) of a process without our library: counts only.
 *
 * A stack is sent once; a launch then costs one 40-byte event. The consumer polls (no wake-ups).
 */
/* clang-format off: the helpers' header uses the types and does not include them. */
#include "vmlinux_min.h"
#include <bpf/bpf_helpers.h>
/* clang-format on */

#include "wire/bpf_events.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

/* Per thread and not per CPU: uprobe programs can be preempted by another thread's. */
struct scratch {
  __u64 addresses[GPUPROF_BPF_MAX_FRAMES];
  char name[16];
  __u32 named;
};

struct {
  __uint(type, BPF_MAP_TYPE_TASK_STORAGE);
  __uint(map_flags, BPF_F_NO_PREALLOC);
  __type(key, int);
  __type(value, struct scratch);
} scratches SEC(".maps");

/* Stacks that the recorder has. Least recently used ones fall out and are then sent again, which does no harm. */
struct {
  __uint(type, BPF_MAP_TYPE_LRU_HASH);
  __uint(max_entries, 262144);
  __type(key, __u64);
  __type(value, __u8);
} known_stacks SEC(".maps");

struct {
  __uint(type, BPF_MAP_TYPE_RINGBUF);
  __uint(max_entries, 8 << 20); /* resized at load */
} events SEC(".maps");

struct {
  __uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
  __uint(max_entries, GPUPROF_BPF_LOSSES);
  __type(key, __u32);
  __type(value, __u64);
} losses SEC(".maps");

/* The recorder's pid namespace, where that is not the initial one: its pids are then the ones to report. */
const volatile struct gpuprof_bpf_config config = {};

static void count_loss(__u32 kind) {
  __u64* counter = bpf_map_lookup_elem(&losses, &kind);
  if (counter) {
    ++*counter;
  }
}

static __u64 mix(__u64 h, __u64 v) {
  h = (h ^ v) * 0x9e3779b97f4a7c15ull;
  return h ^ (h >> 29);
}

/* The id of the current user stack; sends its frames if the recorder may not have them. 0: not readable. */
static __u64 stack_id(void* ctx, struct scratch* scratch, __u32 pid) {
  long bytes = bpf_get_stack(ctx, scratch->addresses, sizeof(scratch->addresses), BPF_F_USER_STACK);
  if (bytes <= 0) {
    count_loss(GPUPROF_BPF_LOST_READ);
    return 0;
  }
  __u32 count = (__u32)bytes / 8;
  __u64 id = mix(0x6770757072666cull, pid);
  for (__u32 i = 0; i < GPUPROF_BPF_MAX_FRAMES; ++i) {
    if (i >= count) {
      break;
    }
    id = mix(id, scratch->addresses[i]);
  }
  id |= !id; /* never 0 */

  if (bpf_map_lookup_elem(&known_stacks, &id)) {
    return id;
  }
  /* Reserved at full size: a ring buffer reservation must be a constant. New stacks are rare. */
  struct gpuprof_bpf_stack* event = bpf_ringbuf_reserve(&events, sizeof(*event) + sizeof(scratch->addresses), 0);
  if (!event) {
    count_loss(GPUPROF_BPF_LOST_STACK);
    return id;
  }
  event->type = GPUPROF_BPF_STACK;
  event->pid = pid;
  event->stack = id;
  event->count = count;
  event->flags = count >= GPUPROF_BPF_MAX_FRAMES ? GPUPROF_BPF_STACK_TRUNCATED : 0;
  __builtin_memcpy(event->addresses, scratch->addresses, sizeof(scratch->addresses));
  bpf_ringbuf_submit(event, BPF_RB_NO_WAKEUP);

  __u8 one = 1;
  bpf_map_update_elem(&known_stacks, &id, &one, BPF_ANY);
  return id;
}

/* Sends the thread's name at its first launch and whenever it has changed. */
static void send_name(struct scratch* scratch, __u32 pid, __u32 tid) {
  __u64 name[2] = {};
  if (bpf_get_current_comm(name, sizeof(name)) != 0) {
    return;
  }
  __u64* last = (__u64*)scratch->name;
  if (scratch->named && last[0] == name[0] && last[1] == name[1]) {
    return;
  }
  struct gpuprof_bpf_thread* event = bpf_ringbuf_reserve(&events, sizeof(*event), 0);
  if (!event) {
    return; /* tried again at the next launch */
  }
  event->type = GPUPROF_BPF_THREAD;
  event->pid = pid;
  event->tid = tid;
  event->pad = 0;
  __builtin_memcpy(event->name, name, sizeof(event->name));
  bpf_ringbuf_submit(event, BPF_RB_NO_WAKEUP);
  last[0] = name[0];
  last[1] = name[1];
  scratch->named = 1;
}

static void send_launch(void* ctx, __u32 source, __u64 correlation) {
  __u64 pid_tgid = bpf_get_current_pid_tgid();
  if (config.pidns_inode) {
    struct bpf_pidns_info ids;
    if (bpf_get_ns_current_pid_tgid(config.pidns_device, config.pidns_inode, &ids, sizeof(ids)) != 0) {
      return; /* a process outside of our namespace */
    }
    pid_tgid = (__u64)ids.tgid << 32 | ids.pid;
  }
  __u32 pid = pid_tgid >> 32;
  struct task_struct* task = (struct task_struct*)bpf_get_current_task_btf();
  struct scratch* scratch = bpf_task_storage_get(&scratches, task, 0, BPF_LOCAL_STORAGE_GET_F_CREATE);
  __u64 stack = 0;
  if (scratch) {
    send_name(scratch, pid, (__u32)pid_tgid);
    stack = stack_id(ctx, scratch, pid);
  } else {
    count_loss(GPUPROF_BPF_LOST_READ);
  }
  struct gpuprof_bpf_launch* event = bpf_ringbuf_reserve(&events, sizeof(*event), 0);
  if (!event) {
    count_loss(GPUPROF_BPF_LOST_LAUNCH);
    return;
  }
  event->type = GPUPROF_BPF_LAUNCH;
  event->source = source;
  event->correlation = correlation;
  event->stack = stack;
  event->pid = pid;
  event->tid = (__u32)pid_tgid;
  bpf_ringbuf_submit(event, BPF_RB_NO_WAKEUP);
}

SEC("uprobe")
int on_launch_probe(struct pt_regs* ctx) {
  send_launch(ctx, (__u32)GPUPROF_ARG2(ctx), GPUPROF_ARG1(ctx));
  return 0;
}

SEC("uprobe")
int on_launch_function(struct pt_regs* ctx) {
  send_launch(ctx, 0, bpf_get_attach_cookie(ctx));
  return 0;
}
