/* Holds the state of a walk, and reads the memory of the process. Include after launch_events.h. */
#ifndef GPUPROF_WALK_H
#define GPUPROF_WALK_H

#define WORDS GPUPROF_STACK_MAX_WORDS
#define WINDOW_BYTES (WINDOW_WORDS * 8)
#define OBJECT_BYTES 256 /* limit on the bytes read of a Python object */

enum walk_mode {
  WALK_NATIVE = 0,
  WALK_PYTHON = 1, /* reads the frames of one activation of the evaluation loop */
};

/* The state of a walk. It is in memory, not in registers, so that the verifier checks bpf_loop's callback only once. */
struct walk {
  __u64 pc;
  __u64 sp;
  __u64 fp;
  __u64 link;         /* the link register; 0: unknown, or the processor has none */
  __u64 stack_begin;  /* value of sp at which the walk entered this stack */
  __u64 id;           /* hash of the words so far */
  __u64 window_begin; /* The window holds the stack memory [begin, end). */
  __u64 window_end;
  __u64 frames_begin; /* slot->frames holds the memory [begin, end). */
  __u64 frames_end;
  __u64 frame;    /* the next Python frame; 0: none */
  __u64 cframe;   /* the CFrame of the evaluation loop that runs `frame`; 0: unknown */
  __u64 boundary; /* identifies the native frame of the pending run; 0: no run is pending */
  __u32 run;      /* number of Python frames in the pending run */
  __u32 mode;     /* enum walk_mode */
  __u32 exact;    /* 1: pc is not a return address */
  __u32 native_ended;
  __u32 switches; /* stack switches so far */
  __u32 at_entry; /* 1: pc is the first instruction of its function */
  __u32 pid;
  __u32 unsent;
  __u32 outdated;  /* 1: the mappings were read before the last unload, so the walk checks each mapping that it uses */
  __u32 astray;    /* 1: the file at pc differs from the file in the recorder's mappings */
  __u32 surprised; /* 1: the recorder should read the mappings again */
  __u32 least_sp;  /* 1: sp is only known to be at least walk->sp */
};

struct slot {
  __u32 busy;
  __u32 pad;
  struct walk walk;
  struct gpuprof_bpf_process process;
  __u64 window[WINDOW_WORDS];
  __u8 frames[WINDOW_BYTES]; /* copy of memory with Python frames; callees have higher addresses */
  __u8 object[OBJECT_BYTES];
  __u64 run[WORDS]; /* Python frames are collected here until the walk finds the native frame that runs them. */
  struct gpuprof_bpf_stack stack;
  __u64 words[WORDS + GPUPROF_BPF_KERNEL_FRAMES]; /* sent directly after `stack` in one event */
  union {
    struct gpuprof_bpf_code code;
    struct gpuprof_bpf_lines lines;
  };
};

struct {
  __uint(type, BPF_MAP_TYPE_ARRAY);
  __uint(max_entries, 1); /* resized at load */
  __type(key, __u32);
  __type(value, struct slot);
} slots SEC(".maps");

struct slot_context {
  struct slot* slot;
};

/* Returns 0 or the helper's error. Waits for paged-out memory if the program is sleepable. */
static __always_inline long read_user(void* to, __u32 bytes, __u64 from) {
  long error = bpf_probe_read_user(to, bytes, (void*)from);
  if (error != 0 && config.sleepable) {
    error = bpf_copy_from_user(to, bytes, (void*)from);
  }
  return error;
}

/* Loads a window that begins at `at` (a multiple of 8). It ends at the page's end at the latest, because the stack
 * may end there. */
static __always_inline long load_window(struct slot* slot, __u64 at) {
  __u64 bytes = PAGE_BYTES - (at & (PAGE_BYTES - 1));
  if (bytes > WINDOW_BYTES) {
    bytes = WINDOW_BYTES;
  }
  if (read_user(slot->window, bytes, at) != 0) {
    return -1;
  }
  slot->walk.window_begin = at;
  slot->walk.window_end = at + bytes;
  return 0;
}

/* Reads an aligned word of the stack. In each frame, the walk first reads the highest word, the return address. So
 * the window begins at sp if possible, to contain the rest of the frame. */
static __always_inline long read_stack(struct slot* slot, __u64 at, __u64* word) {
  struct walk* walk = &slot->walk;
  if (at & 7) {
    return -1;
  }
  if (at < walk->window_begin || at + 8 > walk->window_end) {
    __u64 begin = walk->sp & ~7ull;
    if (at < begin || at - begin > WINDOW_BYTES / 2 || at - begin >= PAGE_BYTES - (begin & (PAGE_BYTES - 1))) {
      begin = at;
    }
    if (load_window(slot, begin) != 0) {
      return -1;
    }
  }
  __u64 index = (at - walk->window_begin) / 8;
  if (index >= WINDOW_WORDS) { /* never true; needed by the verifier */
    return -1;
  }
  *word = slot->window[index];
  return 0;
}

/* Adds a word to the stack. Returns 1 if the stack is full. */
static __always_inline long add_word(struct slot* slot, __u64 word) {
  __u32 count = slot->stack.count;
  if (count >= config.max_words || count >= WORDS) {
    slot->stack.flags |= GPUPROF_STACK_TRUNCATED;
    return 1;
  }
  slot->words[count] = word;
  slot->stack.count = count + 1;
  slot->walk.id = mix(slot->walk.id, word);
  return 0;
}

#endif
