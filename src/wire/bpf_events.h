/* Ring buffer events and map entries that cross between bpf/ and src/record. Plain C without libc. */
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

#define GPUPROF_BPF_MAX_FRAMES 254 /* limit of a stack walked by frame pointers; the innermost addresses are kept */

enum gpuprof_bpf_event_type {
  GPUPROF_BPF_LAUNCH = 1, /* a launch, with its stack id */
  GPUPROF_BPF_STACK = 2,  /* the frames of a stack id, sent before the first launch with this id */
  GPUPROF_BPF_THREAD = 3, /* a thread's name, sent before its first launch and when it changes */
  GPUPROF_BPF_CODE = 4,   /* a Python code object, sent before the first stack that names it */
  GPUPROF_BPF_LINES = 5,  /* a piece of the line table, sent right after GPUPROF_BPF_CODE */
  GPUPROF_BPF_LOADER = 6  /* a process has loaded or unloaded libraries: the recorder must read its mappings again */
};

struct gpuprof_bpf_launch {
  gpuprof_u32 type;
  gpuprof_u32 source;      /* wire source id; 0 for a launch counted without injection */
  gpuprof_u64 correlation; /* correlation id, or with source 0 the index of the probed function */
  gpuprof_u64 stack;       /* 0: the stack could not be read */
  gpuprof_u64 time_ns;     /* CLOCK_MONOTONIC */
  gpuprof_u32 pid;         /* process (tgid), in the recorder's pid namespace */
  gpuprof_u32 tid;
  gpuprof_u32 range; /* wire RANGE id of the source; 0: outside of all ranges */
  gpuprof_u32 pad;
};

struct gpuprof_bpf_stack {
  gpuprof_u32 type;
  gpuprof_u32 pid;
  gpuprof_u64 stack;   /* hash of pid and words, never 0 */
  gpuprof_u32 count;   /* number of words (see wire/stack.h) that follow */
  gpuprof_u32 flags;   /* GPUPROF_STACK_* */
  gpuprof_u64 read_ns; /* read time of the mappings that the walk used; 0: it used no mappings */
  gpuprof_u32 kernel;  /* number of kernel addresses, innermost first, that follow the words */
  gpuprof_u32 pad;
};
#define GPUPROF_BPF_KERNEL_FRAMES 64

struct gpuprof_bpf_loader {
  gpuprof_u32 type;
  gpuprof_u32 pid;
};

struct gpuprof_bpf_thread {
  gpuprof_u32 type;
  gpuprof_u32 pid;
  gpuprof_u32 tid;
  gpuprof_u32 pad;
  char name[16];
};

/* A Python code object: as many characters of name and file as fit, the name first. Kinds: 1 Latin-1, 2 UTF-16 without
 * surrogate pairs, 4 UTF-32 (bytes per character). The line table follows in GPUPROF_BPF_LINES events. */
#define GPUPROF_BPF_CODE_TEXT 4096 /* bytes of a name or a file */
struct gpuprof_bpf_code {
  gpuprof_u32 type;
  gpuprof_u32 pid;
  gpuprof_u32 id; /* 1 .. 2^31-1; never reused in a session */
  gpuprof_u32 first_line;
  gpuprof_u32 version; /* PY_VERSION_HEX */
  gpuprof_u32 name_bytes;
  gpuprof_u32 file_bytes;
  gpuprof_u32 line_bytes; /* size of the line table that follows; 0: too long, or not readable */
  gpuprof_u8 name_kind;
  gpuprof_u8 file_kind;
  gpuprof_u8 name_cut; /* 1: the name is cut */
  gpuprof_u8 file_cut;
  gpuprof_u32 pad;
  gpuprof_u8 bytes[2 * GPUPROF_BPF_CODE_TEXT]; /* only name_bytes + file_bytes are sent */
};

/* A piece of the line table of a code object. The pieces arrive in order. */
#define GPUPROF_BPF_LINES_BYTES 4096
#define GPUPROF_BPF_LINES_MAX 65536 /* bytes of a line table */
struct gpuprof_bpf_lines {
  gpuprof_u32 type;
  gpuprof_u32 pid;
  gpuprof_u32 id;
  gpuprof_u32 offset;
  gpuprof_u32 count;
  gpuprof_u32 pad;
  gpuprof_u8 bytes[GPUPROF_BPF_LINES_BYTES]; /* only `count` bytes are sent */
};

/* For the walk by unwind tables, the recorder writes each process and its mappings into maps. In an inner map of
 * `mappings`, entry 0 is a gpuprof_bpf_mappings, so that it always matches the gpuprof_bpf_mapping entries after it,
 * which ascend by address. Each entry refers to the rows of its file, in an inner map of `pools` (64-bit words). */

/* How to find a thread's state by its thread pointer if no probe provides it. */
struct gpuprof_python_threads {
  gpuprof_u64 interpreter; /* address of the pointer to the main interpreter; 0: threads cannot be found */
  gpuprof_u32 first;       /* offset in the interpreter of the pointer to its first thread state */
  gpuprof_u16 next;        /* offset in the thread state of the pointer to the next one */
  gpuprof_u16 ident;       /* offset in the thread state of the thread's pthread_self() */
};
struct gpuprof_bpf_process {
  gpuprof_u32 number;      /* number of the mappings (gpuprof_bpf_mappings may be newer); 0: the tables are not ready */
  gpuprof_u32 image;       /* changes with each program that runs under this pid */
  gpuprof_u32 frame_bytes; /* bytes to read of a Python frame, up to the last field needed */
  gpuprof_u32 code_bytes;  /* bytes to read of a code object, up to the last field needed */
  gpuprof_u64 read_ns;     /* CLOCK_MONOTONIC time of the last read that found these mappings */
  struct gpuprof_python_layout python;
  struct gpuprof_python_threads python_threads;
};

/* Rows have relative addresses: address - begin + relative_begin. A file's words in the pool: page_count + 1 row
 * numbers (the first row of each 4 KB page, then the end); rows (upper half: relative address, lower half: rule
 * number); rules. */
struct gpuprof_bpf_mapping {
  gpuprof_u64 begin;
  gpuprof_u64 end;
  gpuprof_u64 relative_begin;
  gpuprof_u32 pool;     /* pool that holds the words of the file */
  gpuprof_u32 words_at; /* index of the file's first word in the pool */
  gpuprof_u32 page_count;
  gpuprof_u32 rules_at; /* index of the first rule in the pool */
  gpuprof_u64 inode;    /* inode of the file; 0: no file */
  gpuprof_u64 offset;   /* file offset of `begin` */
  gpuprof_u32 gone;     /* 1: the last read of the mappings did not find this mapping */
  gpuprof_u32 pad;
};
struct gpuprof_bpf_mappings {
  gpuprof_u64 count;   /* entries that follow */
  gpuprof_u64 read_ns; /* CLOCK_MONOTONIC time of the read */
  gpuprof_u32 number;  /* 1 .. 65535, qualifies addresses in the rule cache; changes when a cached rule may be wrong */
  gpuprof_u32 generation; /* changes when an address range is mapped to something else */
  gpuprof_u64 pad[5];
};
#define GPUPROF_BPF_PAGE_SHIFT 12
#define GPUPROF_BPF_MAX_MAPPINGS 65536
#define GPUPROF_BPF_MAX_POOLS 8192
#define GPUPROF_BPF_MAX_PROCESSES 16384

/* Written by the recorder before it loads the programs (.rodata). */
struct gpuprof_bpf_config {
  gpuprof_u64 pidns_device; /* st_dev of the recorder's /proc/self/ns/pid */
  gpuprof_u64 pidns_inode;  /* st_ino of the recorder's /proc/self/ns/pid; 0: the initial namespace */
  gpuprof_u32 sleepable;    /* 1: the program may wait for memory that is paged out */
  gpuprof_u32 max_words;    /* words per stack, at most GPUPROF_STACK_MAX_WORDS */
  gpuprof_u32 max_turns;    /* iterations of the walk's loop */
  gpuprof_u32 slot_mask;    /* number of walk slots (a power of two) minus 1 */
  gpuprof_u32 cache_mask;   /* entries of the rule cache (a power of two) minus 1 */
  gpuprof_u32 batches;      /* drm.bpf.c: 1: scan batches of commands */
  gpuprof_u32 root;         /* drm.bpf.c: jobs of the process with this pid and of its descendants are recorded */
};

/* Why the BPF side lost something; index into the per-CPU counter map `losses`. */
enum gpuprof_bpf_loss {
  GPUPROF_BPF_LOST_LAUNCH = 0, /* ring buffer full at a launch event */
  GPUPROF_BPF_LOST_STACK = 1,  /* ring buffer full at a stack event; the next launch sends the stack again */
  GPUPROF_BPF_LOST_READ = 2,   /* a walk was not possible: no memory */
  GPUPROF_BPF_LOSSES = 3
};

#endif /* GPUPROF_WIRE_BPF_EVENTS_H */
