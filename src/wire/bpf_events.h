/* Ring buffer events and map entries that BPF programs and the recorder exchange. Plain C without libc. */
#ifndef GPUPROF_WIRE_BPF_EVENTS_H
#define GPUPROF_WIRE_BPF_EVENTS_H

#include "wire/stack.h"

#ifndef __bpf__
#include <stdint.h> /* NOLINT(modernize-deprecated-headers): this is C, too */
typedef uint8_t gpuprof_u8;
typedef uint16_t gpuprof_u16;
typedef uint32_t gpuprof_u32;
typedef uint64_t gpuprof_u64;
#else
typedef unsigned char gpuprof_u8;
typedef unsigned short gpuprof_u16;
typedef unsigned int gpuprof_u32;
typedef unsigned long long gpuprof_u64;
#endif

/* Limit of the addresses in a stack that is walked by frame pointers. The innermost ones are kept. */
#define GPUPROF_BPF_MAX_FRAMES 254

enum gpuprof_bpf_event_type {
  GPUPROF_BPF_LAUNCH = 1, /* a launch, with its stack id */
  GPUPROF_BPF_STACK = 2,  /* the frames of a stack, sent before the first launch with its stack id */
  GPUPROF_BPF_THREAD = 3, /* a thread's name, sent before the thread's first launch and when the name changes */
  GPUPROF_BPF_CODE = 4,   /* a Python code object, sent before the first stack that refers to it */
  GPUPROF_BPF_LINES = 5,  /* a piece of a line table, sent right after its GPUPROF_BPF_CODE */
  GPUPROF_BPF_LOADER = 6, /* a process has loaded or unloaded libraries, so the recorder must read its mappings again */
  GPUPROF_BPF_OFF_CPU = 7 /* a thread did not run for some time */
};

struct gpuprof_bpf_launch {
  gpuprof_u32 type;
  gpuprof_u32 source;      /* wire source id; 0: counted by a uprobe, in a process without the injection library */
  gpuprof_u64 correlation; /* correlation id; if source is 0, the index of the probed function */
  gpuprof_u64 stack;       /* id of a stack; 0: the stack could not be read */
  gpuprof_u64 time_ns;     /* CLOCK_MONOTONIC */
  gpuprof_u32 pid;         /* process (tgid) in the recorder's pid namespace */
  gpuprof_u32 tid;
  gpuprof_u32 range; /* id of a wire RANGE of the source; 0: outside of all ranges */
  gpuprof_u32 pad;
};

struct gpuprof_bpf_stack {
  gpuprof_u32 type;
  gpuprof_u32 pid;
  gpuprof_u64 stack;   /* id of the stack: a hash of pid and words, never 0 */
  gpuprof_u32 count;   /* number of words that follow (see wire/stack.h) */
  gpuprof_u32 flags;   /* GPUPROF_STACK_* */
  gpuprof_u64 read_ns; /* when the recorder read the mappings that the walk used; 0: it used none */
  gpuprof_u32 kernel;  /* number of kernel addresses that follow the words, innermost first */
  gpuprof_u32 pad;
};
#define GPUPROF_BPF_KERNEL_FRAMES 64

struct gpuprof_bpf_loader {
  gpuprof_u32 type;
  gpuprof_u32 pid;
};

/* Why a thread left its CPU. */
enum gpuprof_off_cpu_state {
  GPUPROF_OFF_CPU_BLOCKED = 1, /* else it could run, and another thread got the CPU */
  GPUPROF_OFF_CPU_IO = 2,      /* it waited for a disk */
  GPUPROF_OFF_CPU_RECLAIM = 4, /* it was freeing memory, because the kernel had too little */
  GPUPROF_OFF_CPU_STOPPED = 8, /* by a signal or a debugger */
  GPUPROF_OFF_CPU_ENDED = 16   /* the thread ends, so the event has no times */
};

/* A thread that is in `feeders` did not run from off_ns to in_ns (CLOCK_MONOTONIC). */
struct gpuprof_bpf_off_cpu {
  gpuprof_u32 type;
  gpuprof_u32 pid; /* process (tgid) in the recorder's pid namespace */
  gpuprof_u32 tid; /* as the process sees it */
  gpuprof_u32 state;
  gpuprof_u64 off_ns;
  gpuprof_u64 woken_ns; /* when it could run again; 0: always, or unknown */
  gpuprof_u64 in_ns;
  gpuprof_u64 throttled_ns; /* how long its cgroup had no CPU time left meanwhile, summed over the CPUs */
  gpuprof_u64 stack;        /* id of a stack; 0: the stack could not be read */
  gpuprof_u32 system_call;  /* its number; UINT32_MAX: none, so a blocked thread waited for memory */
  gpuprof_u32 pad;
  gpuprof_u64 waker_stack; /* user stack of the thread of the process that ended the wait for a futex; 0: unknown */
  char waker[16];          /* name of that thread; empty: unknown */
};
struct gpuprof_bpf_feeder { /* key of `feeders`: a thread that launches GPU work */
  gpuprof_u32 pid;
  gpuprof_u32 tid;
};
#define GPUPROF_BPF_MAX_FEEDERS 8192
/* A thread that is off its CPU for less is counted, but not reported. */
#define GPUPROF_SHORTEST_OFF_CPU_NS 10000

struct gpuprof_bpf_thread {
  gpuprof_u32 type;
  gpuprof_u32 pid;
  gpuprof_u32 tid;
  gpuprof_u32 pad;
  char name[16];
};

/* A Python code object with its name and then its file, each truncated to the characters that fit. A kind is the
 * number of bytes per character: 1 is Latin-1, 2 is UTF-16 without surrogate pairs, 4 is UTF-32. The line table
 * follows in GPUPROF_BPF_LINES events. */
#define GPUPROF_BPF_CODE_TEXT 4096 /* limit of the bytes of a name, and of a file */
struct gpuprof_bpf_code {
  gpuprof_u32 type;
  gpuprof_u32 pid;
  gpuprof_u32 id; /* 1 to 2^31-1; never reused in a session */
  gpuprof_u32 first_line;
  gpuprof_u32 version; /* PY_VERSION_HEX */
  gpuprof_u32 name_bytes;
  gpuprof_u32 file_bytes;
  gpuprof_u32 line_bytes; /* size of the line table that follows; 0: it is too long or cannot be read */
  gpuprof_u8 name_kind;
  gpuprof_u8 file_kind;
  gpuprof_u8 name_cut; /* 1: the name was truncated */
  gpuprof_u8 file_cut;
  gpuprof_u32 pad;
  gpuprof_u8 bytes[2 * GPUPROF_BPF_CODE_TEXT]; /* only the first name_bytes + file_bytes are sent */
};

/* A piece of a code object's line table. The pieces arrive in order. */
#define GPUPROF_BPF_LINES_BYTES 4096
#define GPUPROF_BPF_LINES_MAX 65536 /* limit of the bytes of a line table */
struct gpuprof_bpf_lines {
  gpuprof_u32 type;
  gpuprof_u32 pid;
  gpuprof_u32 id;
  gpuprof_u32 offset;
  gpuprof_u32 count;
  gpuprof_u32 pad;
  gpuprof_u8 bytes[GPUPROF_BPF_LINES_BYTES]; /* only the first `count` bytes are sent */
};

/* For walks by unwind tables, the recorder writes processes and their mappings into maps. Each process has an inner
 * map in `mappings`. Its entry 0 is a gpuprof_bpf_mappings. The entries after it are gpuprof_bpf_mapping, sorted by
 * address. As all are in one inner map, they always match. Each mapping refers to the rows of its file in an inner
 * map of `pools`, which holds 64-bit words. */

/* Says how to find the Python state of a thread by its thread pointer, if no probe provides the state. */
struct gpuprof_python_threads {
  /* Address of the pointer to the main interpreter. 0: the states of threads cannot be found. */
  gpuprof_u64 interpreter;
  gpuprof_u32 first; /* offset in the interpreter of the pointer to its first thread state */
  gpuprof_u16 next;  /* offset in the thread state of the pointer to the next one */
  gpuprof_u16 ident; /* offset in the thread state of the thread's pthread_self() */
};
struct gpuprof_bpf_process {
  /* Equals gpuprof_bpf_mappings.number, unless those mappings are newer. 0: the tables are not ready. */
  gpuprof_u32 number;
  gpuprof_u32 image;       /* changes when the pid runs another program */
  gpuprof_u32 frame_bytes; /* bytes to read of a Python frame: up to the last field that is needed */
  gpuprof_u32 code_bytes;  /* bytes to read of a code object: up to the last field that is needed */
  gpuprof_u64 read_ns;     /* CLOCK_MONOTONIC time at which the recorder last read the mappings and found these */
  struct gpuprof_python_layout python;
  struct gpuprof_python_threads python_threads;
};

/* The rows of a file use relative addresses: address - begin + relative_begin. The file's words in the pool are:
 * page_count + 1 row numbers (the first row of each 4 KB page, then the end), the rows (upper half: relative address,
 * lower half: rule number), and the rules. */
struct gpuprof_bpf_mapping {
  gpuprof_u64 begin;
  gpuprof_u64 end;
  gpuprof_u64 relative_begin;
  gpuprof_u32 pool;     /* pool with the words of the file */
  gpuprof_u32 words_at; /* index in the pool of the file's first word */
  gpuprof_u32 page_count;
  gpuprof_u32 rules_at; /* index in the pool of the file's first rule */
  gpuprof_u64 inode;    /* inode of the file; 0: the mapping has no file */
  gpuprof_u64 offset;   /* file offset of `begin` */
  gpuprof_u32 gone;     /* 1: the recorder's last reading did not find this mapping */
  gpuprof_u32 pad;
};
struct gpuprof_bpf_mappings {
  gpuprof_u64 count;   /* number of entries that follow */
  gpuprof_u64 read_ns; /* CLOCK_MONOTONIC time at which the recorder read the mappings */
  /* 1 to 65535. The rule cache stores it with each address. It changes when a cached rule may have become wrong. */
  gpuprof_u32 number;
  gpuprof_u32 generation; /* changes when an address range is mapped to something else */
  gpuprof_u64 pad[5];
};
#define GPUPROF_BPF_PAGE_SHIFT 12
#define GPUPROF_BPF_MAX_MAPPINGS 65536
#define GPUPROF_BPF_MAX_POOLS 8192
#define GPUPROF_BPF_MAX_PROCESSES 16384
#define GPUPROF_BPF_MAX_COUNTED 4096     /* children whose launches are counted */
#define GPUPROF_BPF_CHILDREN 0x80000000u /* in the cookie of a probe: it counts only in these children */

/* The recorder writes this (.rodata) before it loads the programs. */
struct gpuprof_bpf_config {
  gpuprof_u64 pidns_device; /* st_dev of the recorder's /proc/self/ns/pid */
  gpuprof_u64 pidns_inode;  /* st_ino of the recorder's /proc/self/ns/pid; 0: the initial pid namespace */
  gpuprof_u32 sleepable;    /* 1: the program may sleep until memory that was paged out is read */
  gpuprof_u32 max_words;    /* limit of words per stack, at most GPUPROF_STACK_MAX_WORDS */
  gpuprof_u32 max_turns;    /* limit of iterations of the walk's loop */
  gpuprof_u32 slot_mask;    /* number of walk slots, which is a power of two, minus 1 */
  gpuprof_u32 cache_mask;   /* number of rule cache entries, which is a power of two, minus 1 */
  gpuprof_u32 batches;      /* only for drm.bpf.c; 1: scan batches of commands */
  /* Only for drm.bpf.c: records the jobs of the process with this pid and of its descendants. */
  gpuprof_u32 root;
  gpuprof_u32 page_shift; /* a page of the Linux kernel has 2^page_shift bytes */
};

/* Why a BPF program lost something. Each value is an index in the per-CPU counter map `losses`. */
enum gpuprof_bpf_loss {
  GPUPROF_BPF_LOST_LAUNCH = 0, /* a launch event did not fit into the ring buffer */
  /* A stack event did not fit into the ring buffer; the next launch sends the stack again. */
  GPUPROF_BPF_LOST_STACK = 1,
  GPUPROF_BPF_LOST_READ = 2, /* a walk was not possible, because no memory was available */
  /* Only for off_cpu.bpf.c. */
  GPUPROF_BPF_LOST_OFF_CPU = 3,     /* a GPUPROF_BPF_OFF_CPU event did not fit, or its end was not seen */
  GPUPROF_BPF_SHORT_OFF_CPU = 4,    /* number of times below GPUPROF_SHORTEST_OFF_CPU_NS */
  GPUPROF_BPF_SHORT_OFF_CPU_NS = 5, /* their sum */
  GPUPROF_BPF_LOSSES = 6
};

#endif /* GPUPROF_WIRE_BPF_EVENTS_H */
