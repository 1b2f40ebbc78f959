/*
 * What crosses from bpf/ to src/record through the BPF ring buffer. Plain C without libc, included by both.
 */
#ifndef GPUPROF_WIRE_BPF_EVENTS_H
#define GPUPROF_WIRE_BPF_EVENTS_H

#ifndef __bpf__
#include <stdint.h> /* NOLINT(modernize-deprecated-headers): this is C, too */
typedef uint8_t gpuprof_u8;
typedef uint32_t gpuprof_u32;
typedef uint64_t gpuprof_u64;
#else
typedef unsigned char gpuprof_u8;
typedef unsigned int gpuprof_u32;
typedef unsigned long long gpuprof_u64;
#endif

#define GPUPROF_BPF_MAX_FRAMES 254 /* addresses in a stack, the innermost ones of a deeper one */

enum gpuprof_bpf_event_type {
  GPUPROF_BPF_LAUNCH = 1, /* a launch, with the id of its stack */
  GPUPROF_BPF_STACK = 2,  /* the frames behind a stack id, sent before its first launch */
  GPUPROF_BPF_THREAD = 3  /* a thread's name, sent before its first launch and when it changes */
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

/* Flexible array members are C; both C++ compilers take them. */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wpedantic"
struct gpuprof_bpf_stack {
  gpuprof_u32 type;
  gpuprof_u32 pid;
  gpuprof_u64 stack; /* hash of pid and addresses, never 0 */
  gpuprof_u32 count;
  gpuprof_u32 flags;
  gpuprof_u64 addresses[]; /* count of them, innermost first; all but the first are return addresses */
};
#pragma GCC diagnostic pop
#define GPUPROF_BPF_STACK_TRUNCATED 1u /* the walk ended before the frame in which the thread began */

struct gpuprof_bpf_thread {
  gpuprof_u32 type;
  gpuprof_u32 pid;
  gpuprof_u32 tid;
  gpuprof_u32 pad;
  char name[16];
};

/* Set by the recorder before the programs are loaded (.rodata). */
struct gpuprof_bpf_config {
  gpuprof_u64 pidns_device; /* st_dev and ... */
  gpuprof_u64 pidns_inode;  /* ... st_ino of the recorder's /proc/self/ns/pid; 0: the initial namespace */
};

/* Why the BPF side lost something; index into the per-CPU counter map `losses`. */
enum gpuprof_bpf_loss {
  GPUPROF_BPF_LOST_LAUNCH = 0, /* ring buffer full at a launch event */
  GPUPROF_BPF_LOST_STACK = 1,  /* ring buffer full at a stack event; sent again at the next launch */
  GPUPROF_BPF_LOST_READ = 2,   /* no memory for the walk */
  GPUPROF_BPF_LOSSES = 3
};

#endif /* GPUPROF_WIRE_BPF_EVENTS_H */
