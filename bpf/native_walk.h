/* Walks native frames by the rules of wire/stack.h, which the recorder compiles from .eh_frame. */
#ifndef GPUPROF_NATIVE_WALK_H
#define GPUPROF_NATIVE_WALK_H

#include "mappings.h"
#include "wire/stack_arch.h"

/* Without a rule, a value of fp is a frame pointer only if it is at most this far above sp. */
#define FARTHEST_FRAME_POINTER (1u << 20)
#define MAX_SWITCHES 16

enum step_result {
  STEP_ON = 0,
  STEP_COMPLETE = 1, /* this is the thread's outermost frame */
  STEP_FAILED = 2,   /* the walk cannot continue */
};

/* A cache of rules, indexed by a hash of process number and address. It has no lock. check is key ^ rule, so a reader
 * rejects an entry that mixes the writes of two threads. */
struct cached_rule {
  __u64 check;
  __u64 rule;
};

struct {
  __uint(type, BPF_MAP_TYPE_ARRAY);
  __uint(max_entries, 1); /* resized at load */
  __type(key, __u32);
  __type(value, struct cached_rule);
} rule_cache SEC(".maps");

/* Returns whether the recorder's mapping at pc (null: unknown) is still true. If that is uncertain, or the recorder
 * does not know the file at pc, marks the stack as truncated. If another file is mapped at pc, ends the walk. */
static __always_inline int still_holds(struct slot* slot, const struct gpuprof_bpf_mapping* mapping, __u64 pc) {
  struct walk* walk = &slot->walk;
  __u32 mapped = compare_mapping(mapping, pc);
  if (!mapping) {
    if (mapped != MAPPED_ANONYMOUS) { /* a file that the recorder does not know */
      slot->stack.flags |= GPUPROF_STACK_TRUNCATED;
      walk->surprised = 1;
    }
    return 0;
  }
  if (mapped == MAPPED_UNKNOWN && !mapping->gone) {
    slot->stack.flags |= GPUPROF_STACK_TRUNCATED;
    return 1;
  }
  if (mapped != MAPPED_SAME) {
    walk->astray = 1;
    walk->surprised = 1;
  }
  return mapped == MAPPED_SAME;
}

static __always_inline __u64 rule_of(struct slot* slot, __u64 pc) {
  struct walk* walk = &slot->walk;
  __u32 number = slot->process.number;
  if (number == 0 || pc >> 48) {
    return GPUPROF_UNWIND_NONE;
  }
  __u64 key = pc | (__u64)number << 48;
  __u32 index = (key * GPUPROF_HASH_MULTIPLIER >> 32) & config.cache_mask;
  struct cached_rule* cached = bpf_map_lookup_elem(&rule_cache, &index);
  if (!cached) {
    return GPUPROF_UNWIND_NONE;
  }
  __u64 rule = cached->rule;
  if ((cached->check ^ rule) == key && !walk->outdated) {
    return rule;
  }
  struct gpuprof_bpf_mapping* mapping = find_mapping(slot, pc);
  __u32 doubtful = !mapping || mapping->gone || walk->outdated;
  if (doubtful && !still_holds(slot, mapping, pc)) {
    return GPUPROF_UNWIND_NONE;
  }
  if (!mapping) { /* needed by the verifier */
    return GPUPROF_UNWIND_NONE;
  }
  rule = find_rule(mapping, pc - mapping->begin + mapping->relative_begin);
  if (!doubtful) { /* A doubtful rule is not cached: the recorder will soon read the mappings again. */
    cached->rule = rule;
    cached->check = key ^ rule;
  }
  return rule;
}

/* Returns the CFA of a function whose sp is only known to be at least walk->sp; 0: unknown. If the function saves fp,
 * fp points to where it did so. */
static __always_inline __u64 cfa_by_saved_fp(const struct walk* walk, __u64 rule) {
  int saved = GPUPROF_UNWIND_RULE_KIND(rule) == GPUPROF_UNWIND_SP &&
              GPUPROF_UNWIND_RULE_FP(rule) == GPUPROF_UNWIND_FP_AT_CFA && walk->fp >= walk->sp;
  return saved ? walk->fp - GPUPROF_UNWIND_RULE_FP_OFFSET(rule) : 0;
}

/* Returns the CFA of the frame; 0: unknown. */
static __always_inline __u64 cfa_of(struct slot* slot, __u64 rule) {
  struct walk* walk = &slot->walk;
  __u64 cfa = 0;
  __u32 kind = GPUPROF_UNWIND_RULE_CFA(rule);
  if (!GPUPROF_FP_GIVES_SP && walk->least_sp && kind != GPUPROF_UNWIND_FP && kind != GPUPROF_UNWIND_DEREF_FP) {
    return cfa_by_saved_fp(walk, rule);
  }
  switch (kind) {
    case GPUPROF_UNWIND_SP:
      return walk->sp + GPUPROF_UNWIND_RULE_CFA_OFFSET(rule);
    case GPUPROF_UNWIND_FP:
      return walk->fp + GPUPROF_UNWIND_RULE_CFA_OFFSET(rule);
    case GPUPROF_UNWIND_DEREF_SP:
    case GPUPROF_UNWIND_DEREF_FP: {
      __u64 from = kind == GPUPROF_UNWIND_DEREF_SP ? walk->sp : walk->fp;
      return read_stack(slot, from + GPUPROF_UNWIND_RULE_CFA_OFFSET(rule), &cfa) == 0 ? cfa : 0;
    }
    case GPUPROF_UNWIND_PLT:
      return GPUPROF_PLT_CFA(walk->sp, walk->pc);
    default:
      return 0;
  }
}

/* Steps to the function that a signal interrupted. The kernel's signal frame holds all its registers. */
static __always_inline long step_over_signal(struct slot* slot) {
  struct walk* walk = &slot->walk;
  __u64 at = walk->sp;
  __u64 pc = 0;
  __u64 sp = 0;
  __u64 fp = 0;
  __u64 link = 0;
  if (!GPUPROF_FP_GIVES_SP && walk->least_sp) { /* the address of the kernel's frame is unknown */
    return STEP_FAILED;
  }
  if (walk->switches++ >= MAX_SWITCHES ||
      (GPUPROF_HAS_LINK_REGISTER && read_stack(slot, at + GPUPROF_SIGNAL_LINK, &link) != 0) ||
      read_stack(slot, at + GPUPROF_SIGNAL_FP, &fp) != 0 || read_stack(slot, at + GPUPROF_SIGNAL_SP, &sp) != 0 ||
      read_stack(slot, at + GPUPROF_SIGNAL_PC, &pc) != 0) {
    return STEP_FAILED;
  }
  walk->pc = pc;
  walk->sp = sp;
  walk->fp = fp;
  walk->link = link;
  walk->stack_begin = sp;
  walk->exact = 1;
  return pc == 0 ? STEP_COMPLETE : STEP_ON;
}

/* Steps to the caller of a frame with a known CFA. The caller's frame must have a higher address. There are two
 * exceptions. A function without a stack frame has its return address in the link register. A function may run its
 * callees on another stack, and keep the old stack pointer in fp. */
static __always_inline long step_to_caller(struct slot* slot, __u64 rule, __u64 cfa) {
  struct walk* walk = &slot->walk;
  __u64 pc = 0;
  __u64 fp = walk->fp;
  __u32 kind = GPUPROF_UNWIND_RULE_CFA(rule);
  int in_link = gpuprof_rule_in_link(rule);
  if (cfa < walk->sp || (cfa == walk->sp && !in_link)) {
    if (kind == GPUPROF_UNWIND_SP || kind == GPUPROF_UNWIND_PLT || walk->switches++ >= MAX_SWITCHES) {
      return STEP_FAILED;
    }
    walk->stack_begin = cfa;
  }
  if (in_link) {
    pc = walk->link;
    if (!pc) { /* unknown */
      return STEP_FAILED;
    }
  } else if (read_stack(slot, gpuprof_return_slot(rule, cfa), &pc) != 0) {
    return STEP_FAILED;
  }
  pc = GPUPROF_CODE_ADDRESS(pc);
  if (gpuprof_rule_saves_fp(rule)) {
    __u64 from = GPUPROF_UNWIND_RULE_FP(rule) == GPUPROF_UNWIND_FP_AT_CFA ? cfa : fp;
    if (read_stack(slot, from + GPUPROF_UNWIND_RULE_FP_OFFSET(rule), &fp) != 0) {
      return STEP_FAILED;
    }
  }
  walk->pc = pc;
  walk->sp = cfa;
  walk->fp = fp;
  walk->link = 0;
  walk->exact = 0;
  return pc == 0 ? STEP_COMPLETE : STEP_ON;
}

/* Guesses the rule for code without one: a signal frame, or code with frame pointers (mostly compiled at run time).
 * Returns END at the initial return address of a new stack, and NONE if nothing matches. A frame pointer of 0 means
 * NONE, not END, because the register may hold other data. `*is_code` becomes 0 if pc is unlikely to be in code. */
static __noinline __u64 guess_rule(struct slot* slot, __u32 is_return_address, __u32* is_code) {
  if (!slot || !is_code) { /* needed by the verifier */
    return GPUPROF_UNWIND_NONE;
  }
  struct walk* walk = &slot->walk;
  __u8 code[GPUPROF_CODE_BEFORE + 16] = {};
  *is_code = 1;
  if (is_return_address) {
    if (read_user(code, GPUPROF_CODE_BEFORE, walk->pc - GPUPROF_CODE_BEFORE) != 0) {
      *is_code = 0;
      return GPUPROF_UNWIND_NONE;
    }
    if (read_user(code + GPUPROF_CODE_BEFORE, GPUPROF_SIGNAL_RETURN_BYTES, walk->pc) == 0 &&
        gpuprof_is_signal_return(code + GPUPROF_CODE_BEFORE)) {
      return GPUPROF_UNWIND_RULE(GPUPROF_UNWIND_SIGNAL, GPUPROF_UNWIND_FP_SAME, 0, 0);
    }
    if (!gpuprof_ends_with_call(code)) {
      /* A pc without a call before it that is a function's start is the initial return address of a new stack. */
      __u64 start = rule_of(slot, walk->pc);
      if (start == GPUPROF_RULE_AT_ENTRY || GPUPROF_UNWIND_RULE_KIND(start) == GPUPROF_UNWIND_END) {
        return GPUPROF_UNWIND_RULE(GPUPROF_UNWIND_END, GPUPROF_UNWIND_FP_SAME, 0, 0);
      }
      *is_code = 0;
      return GPUPROF_UNWIND_NONE;
    }
  }
  if (walk->fp < walk->sp || walk->fp - walk->sp > FARTHEST_FRAME_POINTER) {
    return GPUPROF_UNWIND_NONE;
  }
  return GPUPROF_RULE_OF_FRAME_POINTER;
}

#endif
