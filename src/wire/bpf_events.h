/*
 * What crosses from bpf/ to src/record through the BPF ring buffer. Plain C without libc, included by both.
 */
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

#define GPUPROF_BPF_MAX_FRAMES 254 /* by frame pointers: addresses in a stack, the innermost ones */

enum gpuprof_bpf_event_type {
  GPUPROF_BPF_LAUNCH = 1, /* a launch, with the id of its stack */
  GPUPROF_BPF_STACK = 2,  /* the frames behind a stack id, sent before its first launch */
  GPUPROF_BPF_THREAD = 3, /* a thread's name, sent before its first launch and when it changes */
  GPUPROF_BPF_CODE = 4,   /* a Python code object, sent before the first stack that names it */
  GPUPROF_BPF_LINES = 5,  /* a piece of its line table, sent right after it */
  GPUPROF_BPF_LOADER = 6  /* a process has loaded or unloaded libraries: its mappings should be read again */
};

struct gpuprof_bpf_launch {
  gpuprof_u32 type;
  gpuprof_u32 source;      /* wire source id; 0 for a launch counted without injection */
  gpuprof_u64 correlation; /* or, with source 0, the index of the probed function */
  gpuprof_u64 stack;       /* 0: the stack could not be read */
  gpuprof_u64 time_ns;     /* CLOCK_MONOTONIC */
  gpuprof_u32 pid;         /* process (tgid), initial pid namespace */
  gpuprof_u32 tid;
  gpuprof_u32 range; /* wire RANGE id of the source; 0: none */
  gpuprof_u32 pad;
};

struct gpuprof_bpf_stack {
  gpuprof_u32 type;
  gpuprof_u32 pid;
  gpuprof_u64 stack;   /* hash of pid and words, never 0 */
  gpuprof_u32 count;   /* of words as in wire/stack.h, which follow */
  gpuprof_u32 flags;   /* GPUPROF_STACK_* */
  gpuprof_u64 read_ns; /* of the mappings by which it was walked; 0: by none */
  gpuprof_u32 kernel;  /* of addresses in the kernel, the innermost first, which follow the words */
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

/*
 * A Python code object. Of name and file as many characters as fit are there, `kind` bytes each (1: Latin-1, 2: UTF-16
 * without surrogate pairs, 4: UTF-32), the name first. The line table follows in GPUPROF_BPF_LINES events.
 */
#define GPUPROF_BPF_CODE_TEXT 4096 /* bytes of a name or a file */
struct gpuprof_bpf_code {
  gpuprof_u32 type;
  gpuprof_u32 pid;
  gpuprof_u32 id; /* 1 .. 2^31-1; never used again in a session */
  gpuprof_u32 first_line;
  gpuprof_u32 version; /* PY_VERSION_HEX */
  gpuprof_u32 name_bytes;
  gpuprof_u32 file_bytes;
  gpuprof_u32 line_bytes; /* to come; 0: too long, or not readable */
  gpuprof_u8 name_kind;
  gpuprof_u8 file_kind;
  gpuprof_u8 name_cut; /* 1: it is longer */
  gpuprof_u8 file_cut;
  gpuprof_u32 pad;
  gpuprof_u8 bytes[2 * GPUPROF_BPF_CODE_TEXT]; /* only name_bytes + file_bytes of them are sent */
};

/* A piece of the line table of a code object; the pieces come in their order. */
#define GPUPROF_BPF_LINES_BYTES 4096
#define GPUPROF_BPF_LINES_MAX 65536 /* bytes of a line table */
struct gpuprof_bpf_lines {
  gpuprof_u32 type;
  gpuprof_u32 pid;
  gpuprof_u32 id;
  gpuprof_u32 offset;
  gpuprof_u32 count;
  gpuprof_u32 pad;
  gpuprof_u8 bytes[GPUPROF_BPF_LINES_BYTES]; /* only `count` of them are sent */
};

/*
 * What the recorder writes into maps for the walk by tables.
 *
 * A process, and its mappings (in an inner map of `mappings`: entry 0 is a gpuprof_bpf_mappings, so that the two can
 * not differ; the others ascend), each with the rows of its file (in an inner map of `pools`: 64-bit words).
 */
/* How to find the state of a thread by its thread pointer, where no probe names it. */
struct gpuprof_python_threads {
  gpuprof_u64 interpreter; /* address of the pointer to the main interpreter; 0: threads cannot be found */
  gpuprof_u32 first;       /* offset in the interpreter of the pointer to its first thread state; in which are: */
  gpuprof_u16 next;        /* the pointer to the next one */
  gpuprof_u16 ident;       /* what pthread_self() says in that thread */
};
struct gpuprof_bpf_process {
  gpuprof_u32 number;      /* as in gpuprof_bpf_mappings, which may be newer; 0: its tables are not ready */
  gpuprof_u32 image;       /* another one for each program that has run under this pid */
  gpuprof_u32 frame_bytes; /* of a Python frame and ... */
  gpuprof_u32 code_bytes;  /* ... of a code object that are read: up to the last field that is needed */
  gpuprof_u64 read_ns;     /* when its mappings were read last, and were still these: CLOCK_MONOTONIC */
  struct gpuprof_python_layout python;
  struct gpuprof_python_threads python_threads;
};

/* relative = address - begin + relative_begin is an address relative to the base of the file's table. The words of the
 * file are: page_count + 1 row numbers, of the first row of each page of 4 KB and of the end; the rows, each an upper
 * half (relative address) and a lower half (number of a rule); from rules_at on the rules. */
struct gpuprof_bpf_mapping {
  gpuprof_u64 begin;
  gpuprof_u64 end;
  gpuprof_u64 relative_begin;
  gpuprof_u32 pool;     /* that holds the words of its file, from ... */
  gpuprof_u32 words_at; /* ... here on */
  gpuprof_u32 page_count;
  gpuprof_u32 rules_at; /* in the pool */
  gpuprof_u64 inode;    /* of the file; 0: none */
  gpuprof_u64 offset;   /* of `begin` in the file */
  gpuprof_u32 gone;     /* 1: was not there any more when the mappings were read */
  gpuprof_u32 pad;
};
struct gpuprof_bpf_mappings {
  gpuprof_u64 count;      /* of the entries that follow */
  gpuprof_u64 read_ns;    /* when these were read */
  gpuprof_u32 number;     /* 1 .. 65535, of addresses in the cache of rules: changes when a rule may be wrong */
  gpuprof_u32 generation; /* changes when something else is mapped where something was */
  gpuprof_u64 pad[5];
};
#define GPUPROF_BPF_PAGE_SHIFT 12
#define GPUPROF_BPF_MAX_MAPPINGS 65536
#define GPUPROF_BPF_MAX_POOLS 8192
#define GPUPROF_BPF_MAX_PROCESSES 16384

/* Set by the recorder before the programs are loaded (.rodata). */
struct gpuprof_bpf_config {
  gpuprof_u64 pidns_device; /* st_dev and ... */
  gpuprof_u64 pidns_inode;  /* ... st_ino of the recorder's /proc/self/ns/pid; 0: the initial namespace */
  gpuprof_u32 sleepable;    /* 1: memory that is paged out may be waited for */
  gpuprof_u32 max_words;    /* of a stack, at most GPUPROF_STACK_MAX_WORDS */
  gpuprof_u32 max_turns;    /* of the loop that walks */
  gpuprof_u32 slot_mask;    /* number of slots for walks, a power of two, minus 1 */
  gpuprof_u32 cache_mask;   /* the same of the cache of rules */
  gpuprof_u32 batches;      /* drm.bpf.c: 1: batches of commands are looked at */
  gpuprof_u32 root;         /* drm.bpf.c: whose jobs are wanted, and whose descendants', as of the namespace */
};

/* Why the BPF side lost something; index into the per-CPU counter map `losses`. */
enum gpuprof_bpf_loss {
  GPUPROF_BPF_LOST_LAUNCH = 0, /* ring buffer full at a launch event */
  GPUPROF_BPF_LOST_STACK = 1,  /* ring buffer full at a stack event; sent again at the next launch */
  GPUPROF_BPF_LOST_READ = 2,   /* no memory for the walk */
  GPUPROF_BPF_LOSSES = 3
};

#endif /* GPUPROF_WIRE_BPF_EVENTS_H */
