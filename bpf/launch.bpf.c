/*
 * CPU stacks of GPU launches.
 *
 * on_launch_probe runs at gpuprof_launch_probe(correlation, source, range) in an injection library, on the launching
 * thread: the stack carries its correlation id, nothing is matched by time. Graph nodes and calls that wait or allocate
 * come the same way, with a bit of their own in the correlation id. on_launch_function runs at a launch function
 * (cudaLaunchKernel, clEnqueueNDRangeKernel, ...) of a process without our library: counts only.
 *
 * A stack is sent once; a launch then costs one 48-byte event. The consumer polls (no wake-ups).
 */
/* The helpers' header uses the types and does not include them: this order. */
/* clang-format off */
#include "vmlinux_min.h"
#include <bpf/bpf_helpers.h>
/* clang-format on */

#include "wire/bpf_events.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

/* A stretch of the stack that is copied at once: an access to user memory costs 100 to 200 ns whatever its size. */
#define WINDOW_WORDS 128
#define PAGE_BYTES 4096

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

/* The state of a walk, in the thread's scratch space: the callback of bpf_loop is checked once, whatever it holds. */
struct walk {
  __u64 at;           /* frame pointer */
  __u64 id;           /* hash so far */
  __u64 window_begin; /* what scratch->window holds: [begin, end) */
  __u64 window_end;
  __u32 count; /* addresses so far */
  __u32 flags;
};

/* Per thread and not per CPU: uprobe programs can be preempted by another thread's. */
struct scratch {
  struct walk walk;
  __u64 window[WINDOW_WORDS];
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

/* Moves the window so that it begins at `at` and ends with its page, which may be the stack's last one. */
static int load_window(struct scratch* scratch, __u64 at) {
  __u64 bytes = PAGE_BYTES - (at & (PAGE_BYTES - 1));
  if (bytes > WINDOW_WORDS * 8) {
    bytes = WINDOW_WORDS * 8;
  }
  if (bytes < 16) {
    bytes = 16; /* a frame across two pages */
  }
  if (bpf_probe_read_user(scratch->window, bytes, (void*)at) != 0) {
    return -1;
  }
  scratch->walk.window_begin = at;
  scratch->walk.window_end = at + bytes;
  return 0;
}

static void add_address(struct scratch* scratch, __u64 address) {
  __u32 count = scratch->walk.count;
  if (count < GPUPROF_BPF_MAX_FRAMES) {
    scratch->addresses[count] = address;
    scratch->walk.count = count + 1;
    scratch->walk.id = mix(scratch->walk.id, address);
  }
}

struct walk_context {
  struct scratch* scratch;
};

/* One frame; 1 ends the loop. */
static long walk_frame(__u32 index, struct walk_context* context) {
  struct scratch* scratch = context->scratch;
  struct walk* walk = &scratch->walk;
  __u64 at = walk->at;
  if (at == 0) { /* where a thread begins */
    walk->flags = 0;
    return 1;
  }
  if (at & 7) {
    return 1;
  }
  if ((at < walk->window_begin || at + 16 > walk->window_end) && load_window(scratch, at) != 0) {
    return 1;
  }
  __u64 word = (at - walk->window_begin) / 8;
  if (word > WINDOW_WORDS - 2) { /* cannot be; for the verifier */
    return 1;
  }
  __u64 caller_frame = scratch->window[word];
  __u64 return_address = scratch->window[word + 1];
  if (return_address == 0) {
    return 1;
  }
  add_address(scratch, return_address);
  if (caller_frame != 0 && caller_frame <= at) {
    return 1; /* callers lie above: the register holds something else */
  }
  walk->at = caller_frame;
  return 0;
}

/*
 * The user stack by frame pointers. Done here and not by bpf_get_stack, which reads user memory twice a frame, does not
 * tell a whole stack from one cut short, and at a function's entry leaves out its caller: the caller's frame pointer
 * is still in the register, the return address on top of the stack.
 */
static void walk_frames(struct pt_regs* ctx, struct scratch* scratch, __u32 pid) {
  struct walk* walk = &scratch->walk;
  walk->at = GPUPROF_FRAME_POINTER(ctx);
  walk->id = mix(0x6770757072666cull, pid);
  walk->window_begin = 0;
  walk->window_end = 0;
  walk->count = 0;
  walk->flags = GPUPROF_BPF_STACK_TRUNCATED;
  add_address(scratch, GPUPROF_INSTRUCTION_POINTER(ctx));
  if (load_window(scratch, GPUPROF_STACK_POINTER(ctx)) == 0) {
    add_address(scratch, GPUPROF_RETURN_ADDRESS(ctx, scratch->window[0]));
  }
  struct walk_context context = {scratch};
  bpf_loop(GPUPROF_BPF_MAX_FRAMES, walk_frame, &context, 0);
  walk->id |= !walk->id; /* never 0 */
}

/* The id of the current user stack; sends its frames if the recorder may not have them. */
static __u64 stack_id(struct pt_regs* ctx, struct scratch* scratch, __u32 pid) {
  walk_frames(ctx, scratch, pid);
  const struct walk* walk = &scratch->walk;
  __u64 id = walk->id;
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
  event->count = walk->count;
  event->flags = walk->flags;
  bpf_probe_read_kernel(event->addresses, sizeof(scratch->addresses), scratch->addresses); /* a memcpy */
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

static void send_launch(struct pt_regs* ctx, __u32 source, __u64 correlation, __u32 range) {
  __u64 time_ns = bpf_ktime_get_ns(); /* before our own work */
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
  event->time_ns = time_ns;
  event->range = range;
  event->pad = 0;
  bpf_ringbuf_submit(event, BPF_RB_NO_WAKEUP);
}

SEC("uprobe")
int on_launch_probe(struct pt_regs* ctx) {
  if ((__u32)GPUPROF_ARG2(ctx) == 0) {
    return 0; /* source 0 means on_launch_function */
  }
  send_launch(ctx, (__u32)GPUPROF_ARG2(ctx), GPUPROF_ARG1(ctx), (__u32)GPUPROF_ARG3(ctx));
  return 0;
}

SEC("uprobe")
int on_launch_function(struct pt_regs* ctx) {
  send_launch(ctx, 0, bpf_get_attach_cookie(ctx), 0);
  return 0;
}
