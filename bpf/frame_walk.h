/*
 * The user stack of the current thread by frame pointers, and the sending of it. Needs no tables.
 * Include after <bpf/bpf_helpers.h>.
 */
#ifndef GPUPROF_FRAME_WALK_H
#define GPUPROF_FRAME_WALK_H

#include "launch_events.h"

/* The state of a walk, in memory and not in registers: the callback of bpf_loop is checked once, whatever it holds. */
struct walk {
  __u64 at;           /* frame pointer */
  __u64 id;           /* hash so far */
  __u64 window_begin; /* what scratch->window holds: [begin, end) */
  __u64 window_end;
  __u32 count; /* addresses so far */
  __u32 flags;
};

struct scratch {
  __u32 busy;
  __u32 pad;
  struct walk walk;
  __u64 window[WINDOW_WORDS];
  __u64 addresses[GPUPROF_BPF_MAX_FRAMES];
};

struct {
  __uint(type, BPF_MAP_TYPE_ARRAY);
  __uint(max_entries, 1); /* resized at load */
  __type(key, __u32);
  __type(value, struct scratch);
} slots SEC(".maps");

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
 * is still in the register, the return address on top of the stack. `owner` tells the process image apart from others.
 */
static void walk_frames(struct pt_regs* regs, struct scratch* scratch, __u64 owner, int at_entry) {
  struct walk* walk = &scratch->walk;
  walk->at = GPUPROF_FRAME_POINTER(regs);
  walk->id = mix(0x6770757072666cull, owner);
  walk->window_begin = 0;
  walk->window_end = 0;
  walk->count = 0;
  walk->flags = GPUPROF_STACK_TRUNCATED;
  add_address(scratch, GPUPROF_INSTRUCTION_POINTER(regs));
  if (at_entry && load_window(scratch, GPUPROF_STACK_POINTER(regs)) == 0) {
    add_address(scratch, GPUPROF_RETURN_ADDRESS(regs, scratch->window[0]));
  }
  struct walk_context context = {scratch};
  bpf_loop(GPUPROF_BPF_MAX_FRAMES, walk_frame, &context, 0);
  walk->id |= !walk->id; /* never 0 */
}

struct stack_event {
  struct gpuprof_bpf_stack stack;
  __u64 addresses[GPUPROF_BPF_MAX_FRAMES];
};

/* The id of the current user stack; sends its frames if the recorder may not have them. */
static __u64 stack_id(struct pt_regs* regs, struct scratch* scratch, __u32 pid, __u64 owner, int at_entry) {
  walk_frames(regs, scratch, owner, at_entry);
  const struct walk* walk = &scratch->walk;
  __u64 id = walk->id;
  if (bpf_map_lookup_elem(&known_stacks, &id)) {
    return id;
  }
  /* Reserved at full size: a ring buffer reservation must be a constant. New stacks are rare. */
  struct stack_event* event = bpf_ringbuf_reserve(&events, sizeof(*event), 0);
  if (!event) {
    count_loss(GPUPROF_BPF_LOST_STACK);
    return id;
  }
  event->stack.type = GPUPROF_BPF_STACK;
  event->stack.pid = pid;
  event->stack.stack = id;
  event->stack.count = walk->count;
  event->stack.flags = walk->flags;
  event->stack.read_ns = 0;
  event->stack.kernel = 0;
  event->stack.pad = 0;
  bpf_probe_read_kernel(event->addresses, sizeof(scratch->addresses), scratch->addresses); /* a memcpy */
  bpf_ringbuf_submit(event, BPF_RB_NO_WAKEUP);

  __u8 one = 1;
  bpf_map_update_elem(&known_stacks, &id, &one, BPF_ANY);
  return id;
}

#endif
