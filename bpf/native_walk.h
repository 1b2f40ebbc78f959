/*
 * Native frames by the rules of wire/stack.h, which the recorder has compiled from .eh_frame.
 */
#ifndef GPUPROF_NATIVE_WALK_H
#define GPUPROF_NATIVE_WALK_H

#include "walk.h"

#define FARTHEST_FRAME_POINTER (1u << 20) /* from the stack pointer, where it is tried without a rule */
#define EBUSY 16
#define MAX_SWITCHES 16 /* from one stack to another in one walk */

/* The rule at a function's entry: nothing but the return address has been pushed. */
#define AT_ENTRY GPUPROF_UNWIND_RULE(GPUPROF_UNWIND_SP, GPUPROF_UNWIND_FP_SAME, 8, 0)

/* Instead of a return code, for the frames of which a step can go wrong. */
enum step_result {
  STEP_ON = 0,
  STEP_WHOLE = 1,  /* the thread began here */
  STEP_ASTRAY = 2, /* it can not be followed any further */
};

/*
 * Rules of addresses seen before, by a hash of process number and address. Written and read without a lock: check is
 * key ^ rule, so half of one entry and half of another do not pass for one.
 */
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

struct {
  __uint(type, BPF_MAP_TYPE_HASH);
  __uint(map_flags, BPF_F_NO_PREALLOC);
  __uint(max_entries, GPUPROF_BPF_MAX_PROCESSES);
  __type(key, __u32); /* pid */
  __type(value, struct gpuprof_bpf_process);
} processes SEC(".maps");

/* When a process has unloaded a library last. Until its mappings have been read again, others may lie there. */
struct unload {
  __u64 time_ns; /* UNLOADING: it is at it; 0: never */
  __u32 told;    /* 1: the recorder knows that it has ended */
  __u32 loading; /* 1: it is loading something */
};
#define UNLOADING (~0ull)

struct {
  __uint(type, BPF_MAP_TYPE_HASH);
  __uint(max_entries, GPUPROF_BPF_MAX_PROCESSES);
  __type(key, __u32); /* pid */
  __type(value, struct unload);
} unloads SEC(".maps");

/* Inner maps are described by sizes only: Linux 6.1 takes no other map in their place once they have a type. */
struct inner_mappings {
  __uint(type, BPF_MAP_TYPE_ARRAY);
  __uint(map_flags, BPF_F_INNER_MAP);
  __uint(max_entries, 1);
  __uint(key_size, sizeof(__u32));
  __uint(value_size, sizeof(struct gpuprof_bpf_mapping));
};

struct {
  __uint(type, BPF_MAP_TYPE_HASH_OF_MAPS);
  __uint(map_flags, BPF_F_NO_PREALLOC);
  __uint(max_entries, GPUPROF_BPF_MAX_PROCESSES);
  __type(key, __u32); /* pid */
  __array(values, struct inner_mappings);
} mappings SEC(".maps");

struct inner_pool {
  __uint(type, BPF_MAP_TYPE_ARRAY);
  __uint(map_flags, BPF_F_INNER_MAP | BPF_F_MMAPABLE);
  __uint(max_entries, 1);
  __uint(key_size, sizeof(__u32));
  __uint(value_size, sizeof(__u64));
};

struct {
  __uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
  __uint(max_entries, GPUPROF_BPF_MAX_POOLS);
  __type(key, __u32);
  __array(values, struct inner_pool);
} pools SEC(".maps");

static __always_inline int tell_loader(__u32 pid) {
  struct gpuprof_bpf_loader* event = bpf_ringbuf_reserve(&events, sizeof(*event), 0);
  if (!event) {
    return 0;
  }
  event->type = GPUPROF_BPF_LOADER;
  event->pid = pid;
  bpf_ringbuf_submit(event, BPF_RB_NO_WAKEUP);
  return 1;
}

/* Whether the mappings of the process were read before it last unloaded something. */
static __always_inline int is_outdated(__u32 pid, const struct gpuprof_bpf_process* process) {
  struct unload* unload = bpf_map_lookup_elem(&unloads, &pid);
  if (!unload || unload->time_ns < process->read_ns) {
    return 0;
  }
  if (unload->time_ns != UNLOADING && !unload->told) { /* there was no room then */
    unload->told = tell_loader(pid);
  }
  return 1;
}

enum mapped {
  MAPPED_OTHER = 0, /* another file, or nothing */
  MAPPED_SAME = 1,
  MAPPED_ANONYMOUS = 2,
  MAPPED_NOT_TOLD = 3 /* another thread is changing the mappings */
};

struct wanted_file {
  __u64 inode;
  __u64 offset; /* of pc */
  __u64 pc;
  __u32 found; /* enum mapped */
  __u32 pad;
};

static long compare_file(struct task_struct* task, struct vm_area_struct* vma, struct wanted_file* wanted) {
  struct file* file = vma->vm_file;
  if (!file) {
    wanted->found = MAPPED_ANONYMOUS;
    return 0;
  }
  __u64 offset = wanted->pc - vma->vm_start + ((__u64)vma->vm_pgoff << 12);
  wanted->found = file->f_inode->i_ino == wanted->inode && offset == wanted->offset ? MAPPED_SAME : MAPPED_OTHER;
  return 0;
}

/* What is at pc, compared with what the recorder has seen there (null: nothing). It keeps the file open, so that no
 * other one of the same file system gets its inode number. */
static __noinline __u32 look_at_mapping(const struct gpuprof_bpf_mapping* mapping, __u64 pc) {
  struct wanted_file wanted = {0, 0, pc, MAPPED_OTHER, 0};
  if (mapping) {
    wanted.inode = mapping->inode;
    wanted.offset = pc - mapping->begin + mapping->offset;
    if (!wanted.inode) {
      return mapping->gone ? MAPPED_OTHER : MAPPED_SAME; /* the vdso */
    }
  }
  long result = 0;
  for (int i = 0; i < 4; ++i) {
    result = bpf_find_vma(bpf_get_current_task_btf(), pc, compare_file, &wanted, 0);
    if (result != -EBUSY) {
      break;
    }
  }
  return result == -EBUSY ? MAPPED_NOT_TOLD : wanted.found;
}

/* The rule at `relative` in a file: the last row that does not begin behind it. */
static __noinline __u64 find_rule(const struct gpuprof_bpf_mapping* mapping, __u64 relative) {
  if (!mapping) { /* for the verifier */
    return GPUPROF_UNWIND_NONE;
  }
  __u32 page = relative >> GPUPROF_BPF_PAGE_SHIFT;
  if (relative >> 32 || page >= mapping->page_count) {
    return GPUPROF_UNWIND_NONE;
  }
  __u32 pool = mapping->pool;
  void* words = bpf_map_lookup_elem(&pools, &pool);
  if (!words) {
    return GPUPROF_UNWIND_NONE;
  }
  page += mapping->words_at;
  __u64* first = bpf_map_lookup_elem(words, &page);
  ++page;
  __u64* last = bpf_map_lookup_elem(words, &page);
  if (!first || !last) {
    return GPUPROF_UNWIND_NONE;
  }
  __u32 low = *first;
  __u32 high = *last;
  __u32 rows_at = mapping->words_at + mapping->page_count + 1;
  __u32 index = 0;
  for (__u32 i = 0; i < 14 && low < high; ++i) { /* a page has at most 4096 rows */
    __u32 middle = low + (high - low + 1) / 2;
    __u32 at = rows_at + middle;
    __u64* row = bpf_map_lookup_elem(words, &at);
    if (!row) {
      return GPUPROF_UNWIND_NONE;
    }
    if (*row >> 32 <= relative) {
      low = middle;
    } else {
      high = middle - 1;
    }
  }
  index = rows_at + low;
  __u64* row = bpf_map_lookup_elem(words, &index);
  if (!row) {
    return GPUPROF_UNWIND_NONE;
  }
  index = mapping->rules_at + (__u32)*row;
  __u64* rule = bpf_map_lookup_elem(words, &index);
  return rule ? *rule : GPUPROF_UNWIND_NONE;
}

/* The mapping that holds pc; null: none that the recorder knows. */
static __noinline struct gpuprof_bpf_mapping* find_mapping(struct slot* slot, __u64 pc) {
  if (!slot) { /* for the verifier */
    return 0;
  }
  __u32 pid = slot->walk.pid;
  void* own = bpf_map_lookup_elem(&mappings, &pid);
  if (!own) {
    return 0;
  }
  __u32 first = 0;
  struct gpuprof_bpf_mappings* head = bpf_map_lookup_elem(own, &first);
  if (!head) {
    return 0;
  }
  __u32 low = 1;
  __u32 high = (__u32)head->count + 1;
  for (__u32 i = 0; i < 17 && low < high; ++i) {
    __u32 middle = low + (high - low) / 2;
    struct gpuprof_bpf_mapping* mapping = bpf_map_lookup_elem(own, &middle);
    if (!mapping) {
      return 0;
    }
    if (pc < mapping->begin) {
      high = middle;
    } else if (pc >= mapping->end) {
      low = middle + 1;
    } else {
      return mapping;
    }
  }
  return 0;
}

/* By which mappings this walk goes: the process may not have been written yet when they are. */
static __always_inline void begin_native(struct slot* slot) {
  __u32 first = 0;
  __u32 pid = slot->walk.pid;
  void* own = slot->process.number ? bpf_map_lookup_elem(&mappings, &pid) : 0;
  struct gpuprof_bpf_mappings* head = own ? bpf_map_lookup_elem(own, &first) : 0;
  slot->stack.read_ns = 0;
  if (!head) {
    return;
  }
  slot->stack.read_ns = head->read_ns;
  slot->walk.id = mix(slot->walk.id, head->generation);
  if (head->number != slot->process.number) {
    slot->process.number = head->number;
    slot->process.read_ns = head->read_ns;
  }
}

static __always_inline __u64 rule_of(struct slot* slot, __u64 pc) {
  struct walk* walk = &slot->walk;
  __u32 number = slot->process.number;
  if (number == 0 || pc >> 48) {
    return GPUPROF_UNWIND_NONE;
  }
  __u64 key = pc | (__u64)number << 48;
  __u32 index = (key * 0x9e3779b97f4a7c15ull >> 32) & config.cache_mask;
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
  if (doubtful) {
    __u32 mapped = look_at_mapping(mapping, pc);
    if (!mapping) {
      if (mapped != MAPPED_ANONYMOUS) { /* a file without its rules: what follows may be right, and may not */
        slot->stack.flags |= GPUPROF_STACK_TRUNCATED;
        walk->surprised = 1;
      }
      return GPUPROF_UNWIND_NONE; /* not kept: the recorder may get to know it */
    }
    if (mapped == MAPPED_OTHER || mapped == MAPPED_ANONYMOUS || (mapped == MAPPED_NOT_TOLD && mapping->gone)) {
      walk->astray = 1;
      walk->surprised = 1;
      return GPUPROF_UNWIND_NONE;
    }
    if (mapped == MAPPED_NOT_TOLD) {
      slot->stack.flags |= GPUPROF_STACK_TRUNCATED;
    }
  }
  rule = find_rule(mapping, pc - mapping->begin + mapping->relative_begin);
  if (doubtful) {
    return rule;
  }
  cached->rule = rule;
  cached->check = key ^ rule;
  return rule;
}

/* CFA of the frame; 0: not known. */
static __always_inline __u64 cfa_of(struct slot* slot, __u64 rule) {
  struct walk* walk = &slot->walk;
  __u64 cfa = 0;
  switch (GPUPROF_UNWIND_RULE_KIND(rule)) {
    case GPUPROF_UNWIND_SP:
      return walk->sp + GPUPROF_UNWIND_RULE_CFA_OFFSET(rule);
    case GPUPROF_UNWIND_FP:
      return walk->fp + GPUPROF_UNWIND_RULE_CFA_OFFSET(rule);
    case GPUPROF_UNWIND_DEREF_SP:
    case GPUPROF_UNWIND_DEREF_FP: {
      __u64 from = GPUPROF_UNWIND_RULE_KIND(rule) == GPUPROF_UNWIND_DEREF_SP ? walk->sp : walk->fp;
      return read_stack(slot, from + GPUPROF_UNWIND_RULE_CFA_OFFSET(rule), &cfa) == 0 ? cfa : 0;
    }
    case GPUPROF_UNWIND_PLT:
      return walk->sp + 8 + ((walk->pc & 15) >= 11 ? 8 : 0);
    default:
      return 0;
  }
}

/* The frame after a signal's: all registers are in the kernel's signal frame. */
static __always_inline long step_over_signal(struct slot* slot) {
  struct walk* walk = &slot->walk;
  __u64 at = walk->sp;
  __u64 pc = 0;
  __u64 sp = 0;
  __u64 fp = 0;
  if (walk->switches++ >= MAX_SWITCHES || read_stack(slot, at + GPUPROF_SIGNAL_FP_X86_64, &fp) != 0 ||
      read_stack(slot, at + GPUPROF_SIGNAL_SP_X86_64, &sp) != 0 ||
      read_stack(slot, at + GPUPROF_SIGNAL_PC_X86_64, &pc) != 0) {
    return STEP_ASTRAY;
  }
  walk->pc = pc;
  walk->sp = sp;
  walk->fp = fp;
  walk->stack_begin = sp;
  walk->exact = 1;
  return pc == 0 ? STEP_WHOLE : STEP_ON;
}

/* From the frame, whose CFA is known, to its caller. Stacks grow towards it, but for functions that run their callees
 * on another stack, which keep the way back in fp. */
static __always_inline long step_to_caller(struct slot* slot, __u64 rule, __u64 cfa) {
  struct walk* walk = &slot->walk;
  __u64 pc = 0;
  __u64 fp = walk->fp;
  __u32 kind = GPUPROF_UNWIND_RULE_KIND(rule);
  if (cfa <= walk->sp) {
    if (kind == GPUPROF_UNWIND_SP || kind == GPUPROF_UNWIND_PLT || walk->switches++ >= MAX_SWITCHES) {
      return STEP_ASTRAY;
    }
    walk->stack_begin = cfa;
  }
  if (read_stack(slot, cfa - 8, &pc) != 0) {
    return STEP_ASTRAY;
  }
  if (GPUPROF_UNWIND_RULE_FP(rule) != GPUPROF_UNWIND_FP_SAME) {
    __u64 from = GPUPROF_UNWIND_RULE_FP(rule) == GPUPROF_UNWIND_FP_AT_CFA ? cfa : fp;
    if (read_stack(slot, from + GPUPROF_UNWIND_RULE_FP_OFFSET(rule), &fp) != 0) {
      return STEP_ASTRAY;
    }
  }
  walk->pc = pc;
  walk->sp = cfa;
  walk->fp = fp;
  walk->exact = 0;
  return pc == 0 ? STEP_WHOLE : STEP_ON;
}

#if defined(__TARGET_ARCH_x86)
#define CODE_BEFORE 8 /* bytes of the longest call, rounded up */

/* Whether the bytes before a return address are a call: one with a displacement, or through a register or memory. */
static __always_inline int ends_with_call(const __u8* code) {
  return code[3] == 0xe8 || (code[6] == 0xff && (code[7] >> 3 & 7) == 2) ||
         (code[5] == 0xff && (code[6] >> 3 & 7) == 2) || (code[4] == 0xff && (code[5] >> 3 & 7) == 2) ||
         (code[2] == 0xff && (code[3] >> 3 & 7) == 2) || (code[1] == 0xff && (code[2] >> 3 & 7) == 2);
}

/* What a signal handler returns to: mov $15, %rax (or %eax); syscall. */
static __always_inline int is_signal_return(const __u8* code) {
  if (code[0] == 0x48 && code[1] == 0xc7 && code[2] == 0xc0) {
    return code[3] == 0x0f && !code[4] && !code[5] && !code[6] && code[7] == 0x0f && code[8] == 0x05;
  }
  return code[0] == 0xb8 && code[1] == 0x0f && !code[2] && !code[3] && !code[4] && code[5] == 0x0f && code[6] == 0x05;
}
#endif

/*
 * A rule for a frame without one: a signal's, or what code compiled with frame pointers does (compiled at run time,
 * mostly). END: a function that a new stack was given to return to. NONE: it does not look like any of them, a frame
 * pointer of 0 included, which may as well be a register that holds something else; `*is_code` is then 0 where not even
 * the address is likely to be one of code.
 */
static __noinline __u64 guess_rule(struct slot* slot, __u32 is_return_address, __u32* is_code) {
  if (!slot || !is_code) { /* for the verifier */
    return GPUPROF_UNWIND_NONE;
  }
  struct walk* walk = &slot->walk;
  __u8 code[2 * CODE_BEFORE + 8] = {};
  *is_code = 1;
  if (is_return_address) {
    if (read_user(code, CODE_BEFORE, walk->pc - CODE_BEFORE) != 0) {
      *is_code = 0;
      return GPUPROF_UNWIND_NONE;
    }
    if (read_user(code + CODE_BEFORE, 9, walk->pc) == 0 && is_signal_return(code + CODE_BEFORE)) {
      return GPUPROF_UNWIND_RULE(GPUPROF_UNWIND_SIGNAL, GPUPROF_UNWIND_FP_SAME, 0, 0);
    }
    if (!ends_with_call(code)) {
      /* What does not follow a call, but starts a function, is what a new stack was given to return to. */
      __u64 start = rule_of(slot, walk->pc);
      if (start == AT_ENTRY || GPUPROF_UNWIND_RULE_KIND(start) == GPUPROF_UNWIND_END) {
        return GPUPROF_UNWIND_RULE(GPUPROF_UNWIND_END, GPUPROF_UNWIND_FP_SAME, 0, 0);
      }
      *is_code = 0;
      return GPUPROF_UNWIND_NONE;
    }
  }
  if (walk->fp < walk->sp || walk->fp - walk->sp > FARTHEST_FRAME_POINTER) {
    return GPUPROF_UNWIND_NONE;
  }
  return GPUPROF_UNWIND_RULE(GPUPROF_UNWIND_FP, GPUPROF_UNWIND_FP_AT_CFA, 16, -16);
}

#endif
