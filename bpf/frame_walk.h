/* Walks the user stack of the current thread by frame pointers, without tables, and sends it. Include after
 * <bpf/bpf_helpers.h>. */
#ifndef GPUPROF_FRAME_WALK_H
#define GPUPROF_FRAME_WALK_H

#include "launch_events.h"
#include "wire/stack_arch.h"

/* The state of a walk. It is in memory, not in registers, so that the verifier checks bpf_loop's callback only once. */
struct walk {
  __u64 at;           /* frame pointer */
  __u64 id;           /* hash of the addresses so far */
  __u64 window_begin; /* contents of scratch->window: [begin, end) */
  __u64 window_end;
  __u32 count; /* number of addresses so far */
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

/* Copies stack memory into the window, starting at `at`. Stops at the end of the page, because the stack may end
 * there. */
static int load_window(struct scratch* scratch, __u64 at) {
  __u64 bytes = PAGE_BYTES - (at & (PAGE_BYTES - 1));
  if (bytes > WINDOW_WORDS * 8) {
    bytes = WINDOW_WORDS * 8;
  }
  if (bytes < 16) {
    bytes = 16; /* reads two words across the page's end, because the frame crosses it */
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

static long walk_frame(__u32 index, struct walk_context* context) {
  struct scratch* scratch = context->scratch;
  struct walk* walk = &scratch->walk;
  __u64 at = walk->at;
  if (at == 0) { /* the outermost frame of a thread */
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
  if (word > WINDOW_WORDS - 2) { /* never true; needed by the verifier */
    return 1;
  }
  __u64 caller_frame = scratch->window[word];
  __u64 return_address = GPUPROF_CODE_ADDRESS(scratch->window[word + 1]);
  if (return_address == 0) {
    return 1;
  }
  add_address(scratch, return_address);
  if (caller_frame != 0 && caller_frame <= at) {
    return 1; /* not a frame pointer: the frame of a caller has a higher address */
  }
  walk->at = caller_frame;
  return 0;
}

/* Walks the user stack by frame pointers. bpf_get_stack() is not used: it would read user memory twice per frame,
 * and would not report a truncated stack. It would also omit the caller if the probe is at a function's entry
 * (`at_entry`): there the register still holds the caller's frame pointer, and the return address is on top of the
 * stack, or in the link register. `owner` makes the stack ids of process images differ. */
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
  walk->id |= !walk->id; /* 0 would mean that the walk failed */
}

struct stack_event {
  struct gpuprof_bpf_stack stack;
  __u64 addresses[GPUPROF_BPF_MAX_FRAMES];
};

/* Returns the id of the current user stack. Sends the stack's addresses unless known_stacks contains the id. */
static __u64 stack_id(struct pt_regs* regs, struct scratch* scratch, __u32 pid, __u64 owner, int at_entry) {
  walk_frames(regs, scratch, owner, at_entry);
  const struct walk* walk = &scratch->walk;
  __u64 id = walk->id;
  if (bpf_map_lookup_elem(&known_stacks, &id)) {
    return id;
  }
  /* A ring buffer reservation must have a constant size. So it has the size of the largest stack; new stacks are
   * rare. */
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
  bpf_probe_read_kernel(event->addresses, sizeof(scratch->addresses), scratch->addresses); /* serves as memcpy() */
  bpf_ringbuf_submit(event, BPF_RB_NO_WAKEUP);

  __u8 one = 1;
  bpf_map_update_elem(&known_stacks, &id, &one, BPF_ANY);
  return id;
}

#endif
