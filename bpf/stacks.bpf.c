/*
 * CPU stacks of GPU launches, whole: native frames by unwind tables, Python frames between them.
 *
 * on_launch_probe runs at gpuprof_launch_probe(correlation, source, range, python) in an injection library, on the
 * launching thread: the stack carries its correlation id, nothing is matched by time. Graph nodes and calls that wait
 * or allocate come the same way, with a bit of their own in the correlation id. on_launch_function runs at a launch
 * function (cudaLaunchKernel, clEnqueueNDRangeKernel, ...) of a process without our library: counts only.
 *
 * on_loader runs whenever the loader has begun or ended to change what is loaded.
 *
 * One loop, one frame a turn. A stack is sent once; a launch then costs one 48-byte event. The consumer polls (no
 * wake-ups). Loaded as sleepable where the kernel can do that.
 */
/* The helpers' header uses the types and does not include them: this order. */
/* clang-format off */
#include "vmlinux_min.h"
#include <bpf/bpf_helpers.h>
/* clang-format on */

#include "launch_events.h"
#include "native_walk.h"
#include "python_walk.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

static long add_run_word(__u32 index, struct slot_context* context) {
  struct slot* slot = context->slot;
  if (index >= WORDS) {
    return 1;
  }
  return add_word(slot, slot->run[index]);
}

/* Puts the Python frames that wait into the stack and goes on reading those of the next run. */
static __always_inline long add_run(struct slot* slot) {
  struct walk* walk = &slot->walk;
  struct slot_context context = {slot};
  bpf_loop(walk->run, add_run_word, &context, 0);
  walk->run = 0;
  walk->boundary = 0;
  walk->mode = walk->frame ? WALK_PYTHON : WALK_NATIVE;
  return 0;
}

/* Whether the Python frames that wait are run by this native frame. */
static __always_inline int runs_python(const struct slot* slot, __u64 cfa) {
  const struct walk* walk = &slot->walk;
  const struct gpuprof_python_layout* python = &slot->process.python;
  if (walk->boundary > BOUNDARY_NOT_KNOWN) {
    return walk->boundary >= walk->sp && walk->boundary < cfa;
  }
  __u64 inside = walk->pc - !walk->exact;
  return walk->boundary && inside >= python->eval_begin && inside < python->eval_end;
}

/* Whether the native frame of the Python frames that wait was not among those passed on this stack: they then go with
 * the next ones. */
static __always_inline int missed_python(const struct walk* walk) {
  return walk->boundary > BOUNDARY_NOT_KNOWN && walk->boundary < walk->sp && walk->boundary >= walk->stack_begin;
}

/* Nothing native is left: Python frames that found no native frame come last. */
static __always_inline long end_native(struct slot* slot, long result) {
  struct walk* walk = &slot->walk;
  if (walk->boundary || result == STEP_ASTRAY) {
    slot->stack.flags |= GPUPROF_STACK_TRUNCATED;
  }
  walk->native_ended = 1;
  return !walk->boundary;
}

/* A native frame of known CFA, with the Python frames that it runs before it. */
static __always_inline long add_frame(struct slot* slot, __u64 word, __u64 rule, int guessed) {
  __u64 cfa = cfa_of(slot, rule);
  if (runs_python(slot, cfa)) {
    add_run(slot);
    word |= GPUPROF_WORD_EVAL;
  }
  if (add_word(slot, word) != 0) {
    return 1;
  }
  long result = cfa ? step_to_caller(slot, rule, cfa) : STEP_ASTRAY;
  if (guessed && result == STEP_WHOLE) {
    result = STEP_ASTRAY; /* it may have been no frame pointer */
  }
  return result == STEP_ON ? 0 : end_native(slot, result);
}

/* One native frame. */
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
    return end_native(slot, STEP_ASTRAY);
  }
  walk->at_entry = 0;
  int guessed = GPUPROF_UNWIND_RULE_KIND(rule) == GPUPROF_UNWIND_NONE;
  if (guessed) {
    __u32 is_code = 1;
    rule = guess_rule(slot, !walk->exact, &is_code);
    if (!is_code) {
      return end_native(slot, STEP_ASTRAY); /* it is the step before that went wrong */
    }
  }
  if (GPUPROF_UNWIND_RULE_KIND(rule) != GPUPROF_UNWIND_END && GPUPROF_UNWIND_RULE_KIND(rule) != GPUPROF_UNWIND_SIGNAL) {
    return add_frame(slot, word, rule, guessed);
  }
  if (add_word(slot, word) != 0) {
    return 1;
  }
  long result = GPUPROF_UNWIND_RULE_KIND(rule) == GPUPROF_UNWIND_END ? STEP_WHOLE : step_over_signal(slot);
  return result == STEP_ON ? 0 : end_native(slot, result);
}

static long step(__u32 index, struct slot_context* context) {
  struct slot* slot = context->slot;
  return slot->walk.mode == WALK_PYTHON ? step_python(slot) : step_native(slot);
}

static __always_inline void walk_stack(struct pt_regs* ctx, struct slot* slot, __u32 pid,
                                       const struct gpuprof_bpf_process* process, __u64 thread) {
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
  /* A process id comes again, and so does an address when something else is mapped there. */
  walk->id = mix(mix(0x6770757072666cull, pid), slot->process.image);
  walk->stack_begin = walk->sp;
  walk->exact = 1;
  walk->at_entry = 1;
  walk->pid = pid;
  slot->stack.count = 0;
  /* Without tables frame pointers may lead past frames, or to a wrong end. */
  slot->stack.flags = slot->process.number ? 0 : GPUPROF_STACK_TRUNCATED;
  begin_mappings(slot);
  walk->outdated = process && is_outdated(pid, &slot->process);
  begin_python(slot, thread);
  struct slot_context context = {slot};
  long turns = bpf_loop(config.max_turns, step, &context, 0);
  if (turns < 0 || turns >= config.max_turns) {
    slot->stack.flags |= GPUPROF_STACK_TRUNCATED;
  }
  walk->id = mix(walk->id, slot->stack.flags);
  walk->id |= !walk->id; /* never 0 */
}

/* The id of the current user stack; sends its frames if the recorder may not have them. 0: that was not possible. */
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
  if (count > WORDS) { /* for the verifier */
    return 0;
  }
  slot->stack.type = GPUPROF_BPF_STACK;
  slot->stack.pid = pid;
  slot->stack.stack = id;
  if (bpf_ringbuf_output(&events, &slot->stack, sizeof(slot->stack) + count * 8, BPF_RB_NO_WAKEUP) != 0) {
    count_loss(GPUPROF_BPF_LOST_STACK);
    return id;
  }
  if (slot->walk.surprised) {
    tell_loader(pid);
  }
  __u8 one = 1;
  bpf_map_update_elem(&known_stacks, &id, &one, BPF_ANY);
  return id;
}

/* `process`: null where the recorder has not told of it. */
static __always_inline void on_launch(struct pt_regs* ctx, const struct launch* launch,
                                      const struct gpuprof_bpf_process* process, __u64 thread) {
  __u32 pid = launch->ids >> 32;
  send_name(pid, (__u32)launch->ids);
  __u64 stack = 0;
  struct slot* slot = take_slot_of(&slots);
  if (slot) {
    walk_stack(ctx, slot, pid, process, thread);
    stack = stack_id(slot, pid);
    give_slot_back(slot);
  } else {
    count_loss(GPUPROF_BPF_LOST_READ);
  }
  send_launch(launch, stack);
}

SEC("uprobe")
int on_launch_probe(struct pt_regs* ctx) {
  struct launch launch;
  __u32 source = (__u32)GPUPROF_ARG2(ctx);
  /* Source 0 means on_launch_function. */
  if (source == 0 || !begin_launch(&launch, source, GPUPROF_ARG1(ctx), (__u32)GPUPROF_ARG3(ctx))) {
    return 0;
  }
  __u32 pid = launch.ids >> 32;
  const struct gpuprof_bpf_process* process = bpf_map_lookup_elem(&processes, &pid);
  /* The probe is in every process that maps our library. Those that are not recorded are left alone: they could make a
   * walk sleep for as long as they like. */
  if (process) {
    on_launch(ctx, &launch, process, GPUPROF_ARG4(ctx));
  }
  return 0;
}

SEC("uprobe")
int on_launch_function(struct pt_regs* ctx) {
  struct launch launch;
  if (begin_launch(&launch, 0, bpf_get_attach_cookie(ctx), 0)) {
    __u32 pid = launch.ids >> 32;
    on_launch(ctx, &launch, bpf_map_lookup_elem(&processes, &pid), 0);
  }
  return 0;
}

/* r_state of the loader's struct r_debug, whose address relative to the probe's is the cookie. */
#define LOADER_CONSISTENT 0
#define LOADER_ADDS 1
#define LOADER_DELETES 2

SEC("uprobe")
int on_loader(struct pt_regs* ctx) {
  __u32 pid = ids_of_thread() >> 32;
  __u32 state = 0;
  if (!bpf_map_lookup_elem(&processes, &pid) ||
      read_user(&state, sizeof(state), GPUPROF_INSTRUCTION_POINTER(ctx) + bpf_get_attach_cookie(ctx)) != 0) {
    return 0;
  }
  struct unload* last = bpf_map_lookup_elem(&unloads, &pid);
  struct unload now = {last ? last->time_ns : 0, 1, 0};
  if (state == LOADER_ADDS) {
    now.told = last ? last->told : 1;
    now.loading = 1;
  } else if (state == LOADER_DELETES) {
    now.time_ns = UNLOADING;
  } else if (last && last->loading) {
    now.told = last->told;
    tell_loader(pid); /* what it has loaded is not known before */
  } else {
    /* Has unloaded something; or a namespace of dlmopen() has changed, whose state is in another r_debug. */
    now.time_ns = bpf_ktime_get_ns();
    now.told = tell_loader(pid);
  }
  bpf_map_update_elem(&unloads, &pid, &now, BPF_ANY);
  return 0;
}
