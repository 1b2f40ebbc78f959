/* Walks the complete user stack of the current thread: native frames by unwind tables, with the Python frames between
 * them. One loop handles one frame per iteration. Include after launch_events.h. */
#ifndef GPUPROF_STACK_WALK_H
#define GPUPROF_STACK_WALK_H

#include "native_walk.h"
#include "python_walk.h"

static long add_run_word(__u32 index, struct slot_context* context) {
  struct slot* slot = context->slot;
  if (index >= WORDS) {
    return 1;
  }
  return add_word(slot, slot->run[index]);
}

/* Adds the pending Python frames to the stack, then continues with the next run. */
static __always_inline long add_run(struct slot* slot) {
  struct walk* walk = &slot->walk;
  struct slot_context context = {slot};
  bpf_loop(walk->run, add_run_word, &context, 0);
  walk->run = 0;
  walk->boundary = 0;
  walk->mode = walk->frame ? WALK_PYTHON : WALK_NATIVE;
  return 0;
}

/* Returns whether this native frame is the evaluation loop that runs the pending Python frames. */
static __always_inline int runs_python(const struct slot* slot, __u64 cfa) {
  const struct walk* walk = &slot->walk;
  const struct gpuprof_python_layout* python = &slot->process.python;
  if (walk->boundary > BOUNDARY_NOT_KNOWN) {
    return walk->boundary >= walk->sp && walk->boundary < cfa;
  }
  __u64 inside = walk->pc - !walk->exact;
  return walk->boundary && inside >= python->eval_begin && inside < python->eval_end;
}

/* Returns whether the walk has passed walk->boundary without finding the native frame that runs the pending Python
 * frames. These frames then join the next run. */
static __always_inline int missed_python(const struct walk* walk) {
  return walk->boundary > BOUNDARY_NOT_KNOWN && walk->boundary < walk->sp && walk->boundary >= walk->stack_begin;
}

/* Ends the walk of native frames. Pending Python frames are then added last. */
static __always_inline long end_native(struct slot* slot, long result) {
  struct walk* walk = &slot->walk;
  if (walk->boundary || result == STEP_FAILED) {
    slot->stack.flags |= GPUPROF_STACK_TRUNCATED;
  }
  walk->native_ended = 1;
  return !walk->boundary;
}

/* Adds a native frame, preceded by the Python frames that it runs. */
static __always_inline long add_frame(struct slot* slot, __u64 word, __u64 rule, int guessed) {
  __u64 cfa = cfa_of(slot, rule);
  if (runs_python(slot, cfa)) {
    add_run(slot);
    word |= GPUPROF_WORD_EVAL;
  }
  if (add_word(slot, word) != 0) {
    return 1;
  }
  long result = cfa ? step_to_caller(slot, rule, cfa) : STEP_FAILED;
  slot->walk.least_sp = guessed && !GPUPROF_FP_GIVES_SP;
  if (guessed && result == STEP_COMPLETE) {
    result = STEP_FAILED; /* The end of the stack may be wrong, because the guess treated fp as a frame pointer. */
  }
  return result == STEP_ON ? 0 : end_native(slot, result);
}

static __always_inline long step_native(struct slot* slot) {
  struct walk* walk = &slot->walk;
  if (walk->native_ended) {
    add_run(slot);
    return walk->mode == WALK_NATIVE;
  }
  if (missed_python(walk) && walk->frame) {
    walk->boundary = 0;
    walk->mode = WALK_PYTHON;
    return 0;
  }
  __u64 word = walk->pc & GPUPROF_WORD_ADDRESS;
  __u64 rule = GPUPROF_RULE_AT_ENTRY;
  if (!walk->at_entry) {
    rule = rule_of(slot, walk->pc - !walk->exact);
    word |= walk->exact ? GPUPROF_WORD_EXACT : 0;
  }
  if (walk->astray) {
    return end_native(slot, STEP_FAILED);
  }
  walk->at_entry = 0;
  int guessed = GPUPROF_UNWIND_RULE_KIND(rule) == GPUPROF_UNWIND_NONE;
  if (guessed) {
    __u32 is_code = 1;
    rule = guess_rule(slot, !walk->exact, &is_code);
    if (!is_code) {
      return end_native(slot, STEP_FAILED); /* the previous step went wrong */
    }
  }
  if (GPUPROF_UNWIND_RULE_KIND(rule) != GPUPROF_UNWIND_END && GPUPROF_UNWIND_RULE_KIND(rule) != GPUPROF_UNWIND_SIGNAL) {
    return add_frame(slot, word, rule, guessed);
  }
  if (add_word(slot, word) != 0) {
    return 1;
  }
  long result = GPUPROF_UNWIND_RULE_KIND(rule) == GPUPROF_UNWIND_END ? STEP_COMPLETE : step_over_signal(slot);
  return result == STEP_ON ? 0 : end_native(slot, result);
}

static long step(__u32 index, struct slot_context* context) {
  struct slot* slot = context->slot;
  return slot->walk.mode == WALK_PYTHON ? step_python(slot) : step_native(slot);
}

struct walk_from {
  __u32 pid;
  __u32 at_entry; /* 1: the registers are those at a function's first instruction */
  __u64 owner;    /* identifies the process in the stack id */
  __u64 thread;   /* address of the thread's PyThreadState; 0: unknown */
};

/* Walks the stack into `slot`. `process`: null if the recorder has not registered the process. */
static __always_inline void walk_stack(struct pt_regs* ctx, struct slot* slot, const struct walk_from* from,
                                       const struct gpuprof_bpf_process* process) {
  struct walk* walk = &slot->walk;
  if (process) {
    slot->process = *process;
  } else {
    slot->process.number = 0;
    slot->process.image = 0;
    slot->process.read_ns = 0;
    slot->process.python.version = 0;
  }
  __builtin_memset(walk, 0, sizeof(*walk));
  walk->pc = GPUPROF_INSTRUCTION_POINTER(ctx);
  walk->sp = GPUPROF_STACK_POINTER(ctx);
  walk->fp = GPUPROF_FRAME_POINTER(ctx);
  walk->link = GPUPROF_LINK_REGISTER(ctx);
  /* The stack id includes the process image, because the kernel reuses pids and addresses. */
  walk->id = mix(mix(0x6770757072666cull, from->owner), slot->process.image);
  walk->stack_begin = walk->sp;
  walk->exact = 1;
  walk->at_entry = from->at_entry;
  walk->pid = from->pid;
  slot->stack.count = 0;
  slot->stack.kernel = 0;
  slot->stack.pad = 0;
  /* Without tables, the walk follows frame pointers, which may skip frames or end too early. */
  slot->stack.flags = slot->process.number ? 0 : GPUPROF_STACK_TRUNCATED;
  begin_mappings(slot);
  walk->outdated = process && is_outdated(from->pid, &slot->process);
  begin_python(slot, from->thread);
  struct slot_context context = {slot};
  long turns = bpf_loop(config.max_turns, step, &context, 0);
  if (turns < 0 || turns >= config.max_turns) {
    slot->stack.flags |= GPUPROF_STACK_TRUNCATED;
  }
  walk->id = mix(walk->id, slot->stack.flags);
  walk->id |= !walk->id; /* 0 would mean that the walk failed */
}

/* Returns the id of the current user stack; 0: failed. Sends the stack's words unless known_stacks contains the id. */
static __always_inline __u64 stack_id(struct slot* slot, __u32 pid) {
  __u64 id = slot->walk.id;
  if (slot->walk.unsent) {
    count_loss(GPUPROF_BPF_LOST_STACK);
    return 0;
  }
  if (bpf_map_lookup_elem(&known_stacks, &id)) {
    return id;
  }
  __u32 count = slot->stack.count;
  __u32 kernel = slot->stack.kernel;
  if (count > WORDS || kernel > GPUPROF_BPF_KERNEL_FRAMES) { /* needed by the verifier */
    return 0;
  }
  slot->stack.type = GPUPROF_BPF_STACK;
  slot->stack.pid = pid;
  slot->stack.stack = id;
  if (bpf_ringbuf_output(&events, &slot->stack, sizeof(slot->stack) + (count + kernel) * 8, BPF_RB_NO_WAKEUP) != 0) {
    count_loss(GPUPROF_BPF_LOST_STACK);
    return id;
  }
  if (slot->walk.surprised) {
    send_loader_event(pid);
  }
  __u8 one = 1;
  bpf_map_update_elem(&known_stacks, &id, &one, BPF_ANY);
  return id;
}

#endif
