/*
 * Which kernels a batch of commands for an Intel GPU starts: the kernel start pointers of its commands. A step of the
 * search takes one command; who reads the memory is up to the caller: bpf/batch_buffers.h in the kernel, tests in a
 * buffer. Plain C without libc, included by both. What is read is the target's, and may be anything.
 */
#ifndef GPUPROF_WIRE_BATCH_SCAN_H
#define GPUPROF_WIRE_BATCH_SCAN_H

#include "wire/bpf_events.h"

#define GPUPROF_BATCH_KERNELS 64    /* of a batch, the first ones; a power of two */
#define GPUPROF_BATCH_COMMANDS 4096 /* that are looked at */
#define GPUPROF_BATCH_WINDOW 20     /* dwords from where a command begins that are looked at */
#define GPUPROF_BATCH_DEPTH 3       /* batches that are called by one another */
#define GPUPROF_BATCH_JUMPS 16      /* to further buffers, of all kinds */
#define GPUPROF_BATCH_NOOPS 64      /* so many in a row are memory that nobody has written to */

/* In a kernel start: it is the system routine's. Starts are multiples of 64. */
#define GPUPROF_BATCH_SYSTEM_ROUTINE 1

enum gpuprof_batch_state {
  GPUPROF_BATCH_RUNS = 0,
  GPUPROF_BATCH_ENDED = 1,     /* all of its commands have been seen */
  GPUPROF_BATCH_UNWRITTEN = 2, /* it is not complete, or it is no batch: what there is makes no sense */
  GPUPROF_BATCH_CUT = 3        /* it goes on beyond what is looked at */
};

struct gpuprof_batch_scan {
  gpuprof_u64 at;      /* address of the next command, as the GPU has it */
  gpuprof_u64 base;    /* instruction base address; 0: the batch sets none */
  gpuprof_u64 back[4]; /* where batches that have called others go on */
  gpuprof_u32 depth;   /* of these */
  gpuprof_u32 jumps;
  gpuprof_u32 noops; /* since the last other command */
  gpuprof_u32 state;
  gpuprof_u32 count;
  gpuprof_u32 pad;
  gpuprof_u64 starts[GPUPROF_BATCH_KERNELS]; /* relative to the instruction base address */
};

static inline __attribute__((always_inline)) void gpuprof_batch_add(struct gpuprof_batch_scan* scan, gpuprof_u32 low,
                                                                    gpuprof_u32 high, gpuprof_u32 kind) {
  gpuprof_u64 start = (((gpuprof_u64)(high & 0xffff) << 32) | low) & ~(gpuprof_u64)63;
  gpuprof_u32 count = scan->count;
  if (count >= GPUPROF_BATCH_KERNELS) {
    return;
  }
  scan->starts[count & (GPUPROF_BATCH_KERNELS - 1)] = start | kind;
  scan->count = count + 1;
}

/* A command of the 3D pipeline that names kernels. */
static inline __attribute__((always_inline)) void gpuprof_batch_take_shader(struct gpuprof_batch_scan* scan,
                                                                            gpuprof_u32 command,
                                                                            const gpuprof_u32* words) {
  switch (command) {
    case 0x7810: /* 3DSTATE_VS */
    case 0x7811: /* 3DSTATE_GS */
    case 0x781d: /* 3DSTATE_DS */
      if (words[1] | words[2]) {
        gpuprof_batch_add(scan, words[1], words[2], 0);
      }
      break;
    case 0x781b: /* 3DSTATE_HS */
      if (words[3] | words[4]) {
        gpuprof_batch_add(scan, words[3], words[4], 0);
      }
      break;
    case 0x7820: /* 3DSTATE_PS: up to three, for as many widths */
      if (words[1] | words[2]) {
        gpuprof_batch_add(scan, words[1], words[2], 0);
      }
      if (words[8] | words[9]) {
        gpuprof_batch_add(scan, words[8], words[9], 0);
      }
      if (words[10] | words[11]) {
        gpuprof_batch_add(scan, words[10], words[11], 0);
      }
      break;
    default:
      break;
  }
}

/* A command of the GPU's pipelines. Its length in dwords. */
static inline __attribute__((always_inline)) gpuprof_u32 gpuprof_batch_take_pipeline(struct gpuprof_batch_scan* scan,
                                                                                     const gpuprof_u32* words) {
  gpuprof_u32 command = words[0] >> 16;
  gpuprof_u32 subtype = (words[0] >> 27) & 3;
  if (subtype == 1) { /* PIPELINE_SELECT and the like */
    return 1;
  }
  if (command == 0x7208) { /* COMPUTE_WALKER, with the interface descriptor in it */
    gpuprof_batch_add(scan, words[18], words[19], 0);
  } else if (command == 0x6101) { /* STATE_BASE_ADDRESS */
    if (words[10] & 1) {
      scan->base = (((gpuprof_u64)words[11] << 32) | words[10]) & ~(gpuprof_u64)0xfff;
    }
  } else if (command == 0x6102) { /* STATE_SIP */
    gpuprof_batch_add(scan, words[1], words[2], GPUPROF_BATCH_SYSTEM_ROUTINE);
  } else {
    gpuprof_batch_take_shader(scan, command, words);
  }
  return (words[0] & 0xff) + 2;
}

/* Goes on where a command says. `call`: what follows it comes later. */
static inline __attribute__((always_inline)) void gpuprof_batch_jump(struct gpuprof_batch_scan* scan, gpuprof_u64 to,
                                                                     int call) {
  if (scan->jumps >= GPUPROF_BATCH_JUMPS || (call && scan->depth >= GPUPROF_BATCH_DEPTH)) {
    scan->state = GPUPROF_BATCH_CUT;
    return;
  }
  ++scan->jumps;
  if (call) {
    scan->back[scan->depth & 3] = scan->at + 12;
    ++scan->depth;
  }
  scan->at = to;
}

/* A command of the memory interface. Its length in dwords; 0: the search goes on elsewhere. */
static inline __attribute__((always_inline)) gpuprof_u32 gpuprof_batch_take_memory(struct gpuprof_batch_scan* scan,
                                                                                   const gpuprof_u32* words) {
  gpuprof_u32 opcode = (words[0] >> 23) & 0x3f;
  if (opcode == 0x0a) { /* MI_BATCH_BUFFER_END */
    if (scan->depth == 0) {
      scan->state = GPUPROF_BATCH_ENDED;
    } else {
      --scan->depth;
      scan->at = scan->back[scan->depth & 3];
    }
    return 0;
  }
  if (opcode == 0x31) { /* MI_BATCH_BUFFER_START */
    gpuprof_u64 to = (((gpuprof_u64)(words[2] & 0xffff) << 32) | words[1]) & ~(gpuprof_u64)3;
    gpuprof_batch_jump(scan, to, (words[0] >> 22) & 1);
    return 0;
  }
  return opcode < 0x10 ? 1 : (words[0] & 0xff) + 2;
}

/* The command at scan->at, which begins with these words; of those that could not be read, 0. */
static inline __attribute__((always_inline)) void gpuprof_batch_step(struct gpuprof_batch_scan* scan,
                                                                     const gpuprof_u32* words) {
  gpuprof_u32 type = words[0] >> 29;
  gpuprof_u32 length;
  if (words[0] == 0) { /* MI_NOOP */
    if (++scan->noops >= GPUPROF_BATCH_NOOPS) {
      scan->state = GPUPROF_BATCH_UNWRITTEN;
    }
    scan->at += 4;
    return;
  }
  scan->noops = 0;
  if (type == 0) {
    length = gpuprof_batch_take_memory(scan, words);
  } else if (type == 3) {
    length = gpuprof_batch_take_pipeline(scan, words);
  } else if (type == 2) { /* blitter */
    length = (words[0] & 0xff) + 2;
  } else {
    scan->state = GPUPROF_BATCH_UNWRITTEN;
    return;
  }
  scan->at += 4 * (gpuprof_u64)length;
}

#endif /* GPUPROF_WIRE_BATCH_SCAN_H */
