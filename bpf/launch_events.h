/* Sends launch events, for all programs that capture the stacks of launches. Include after <bpf/bpf_helpers.h>. */
#ifndef GPUPROF_LAUNCH_EVENTS_H
#define GPUPROF_LAUNCH_EVENTS_H

#include "wire/bpf_events.h"
#include "wire/hash.h"

/* Words of the stack copied at once: an access to user memory costs 100 to 200 ns, whatever its size. */
#define WINDOW_WORDS 128
#define PAGE_BYTES 4096

/* Ids of the stacks that the recorder has received. If an id is evicted, the stack is sent again, which is harmless. */
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

const volatile struct gpuprof_bpf_config config = {};

struct thread_name {
  char name[16];
  __u32 named;
  __u32 pad;
};

struct {
  __uint(type, BPF_MAP_TYPE_TASK_STORAGE);
  __uint(map_flags, BPF_F_NO_PREALLOC);
  __type(key, int);
  __type(value, struct thread_name);
} threads SEC(".maps");

/* A walk needs a slot, whose first word is a busy flag. A slot is busy only during a walk, so a few slots per CPU
 * suffice. Slots are not bound to a CPU: another walk may preempt a walk, and a walk may sleep for paged-out memory. */
static __always_inline void* take_slot_of(void* slots) {
  __u32 first = bpf_get_smp_processor_id();
  for (__u32 i = 0; i < 8; ++i) {
    __u32 index = (first + i * 5) & config.slot_mask;
    __u32* busy = bpf_map_lookup_elem(slots, &index);
    if (busy && __sync_val_compare_and_swap(busy, 0, 1) == 0) {
      return busy;
    }
  }
  return 0;
}

static __always_inline void release_slot(void* slot) {
  __sync_lock_test_and_set((__u32*)slot, 0);
}

static void count_loss(__u32 kind) {
  __u64* counter = bpf_map_lookup_elem(&losses, &kind);
  if (counter) {
    __sync_fetch_and_add(counter, 1); /* Atomic, because another program may preempt this one on the same CPU. */
  }
}

static inline __u64 mix(__u64 h, __u64 v) {
  return gpuprof_mix_hash(h, v);
}

/* Returns tgid << 32 | tid of the calling thread in the recorder's pid namespace; 0: the thread is not in it. */
static inline __u64 ids_of_thread(void) {
  if (config.pidns_inode) {
    struct bpf_pidns_info ids;
    if (bpf_get_ns_current_pid_tgid(config.pidns_device, config.pidns_inode, &ids, sizeof(ids)) != 0) {
      return 0;
    }
    return (__u64)ids.tgid << 32 | ids.pid;
  }
  return bpf_get_current_pid_tgid();
}

/* Sends the thread's name at its first launch and after each change. */
static inline void send_name(__u32 pid, __u32 tid) {
  struct task_struct* task = (struct task_struct*)bpf_get_current_task_btf();
  struct thread_name* known = bpf_task_storage_get(&threads, task, 0, BPF_LOCAL_STORAGE_GET_F_CREATE);
  __u64 name[2] = {};
  if (bpf_get_current_comm(name, sizeof(name)) != 0) {
    return;
  }
  __u64* last = known ? (__u64*)known->name : 0; /* null if memory is exhausted: every launch then sends the name */
  if (last && known->named && last[0] == name[0] && last[1] == name[1]) {
    return;
  }
  struct gpuprof_bpf_thread* event = bpf_ringbuf_reserve(&events, sizeof(*event), 0);
  if (!event) {
    return;
  }
  event->type = GPUPROF_BPF_THREAD;
  event->pid = pid;
  event->tid = tid;
  event->pad = 0;
  __builtin_memcpy(event->name, name, sizeof(event->name));
  bpf_ringbuf_submit(event, BPF_RB_NO_WAKEUP);
  if (last) {
    last[0] = name[0];
    last[1] = name[1];
    known->named = 1;
  }
}

struct launch {
  __u64 time_ns;
  __u64 correlation;
  __u64 ids; /* from ids_of_thread() */
  __u32 source;
  __u32 range;
};

/* Fills in the launch that the calling thread is making. Returns 0 for a process outside the recorder's namespace. */
static __always_inline int begin_launch(struct launch* launch, __u32 source, __u64 correlation, __u32 range) {
  launch->time_ns = bpf_ktime_get_ns(); /* The time is taken first, so that it excludes the probe's own work. */
  launch->correlation = correlation;
  launch->ids = ids_of_thread();
  launch->source = source;
  launch->range = range;
  return launch->ids != 0;
}

static inline void send_launch(const struct launch* launch, __u64 stack) {
  struct gpuprof_bpf_launch* event = bpf_ringbuf_reserve(&events, sizeof(*event), 0);
  if (!event) {
    count_loss(GPUPROF_BPF_LOST_LAUNCH);
    return;
  }
  event->type = GPUPROF_BPF_LAUNCH;
  event->source = launch->source;
  event->correlation = launch->correlation;
  event->stack = stack;
  event->pid = launch->ids >> 32;
  event->tid = (__u32)launch->ids;
  event->time_ns = launch->time_ns;
  event->range = launch->range;
  event->pad = 0;
  bpf_ringbuf_submit(event, BPF_RB_NO_WAKEUP);
}

#endif
