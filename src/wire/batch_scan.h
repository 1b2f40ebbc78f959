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
  /* Gen8 to Gen12: */
  gpuprof_u64 dynamic;     /* dynamic state base address, of a batch before until this one sets it; 0: not known */
  gpuprof_u64 descriptors; /* address of the interface descriptors; 0: not known */
  gpuprof_u64 descriptor;  /* of the one that is read next, in place of a command; 0: none is */
  gpuprof_u32 descriptors_bytes;
  gpuprof_u32 missed; /* a kernel whose descriptor is not known, or not there, or for which there is no room */
  gpuprof_u32 depth;  /* of these */
  gpuprof_u32 jumps;
  gpuprof_u32 noops; /* since the last other command */
  gpuprof_u32 state;
  gpuprof_u32 count;
  gpuprof_u32 pad;
  gpuprof_u64 starts[GPUPROF_BATCH_KERNELS]; /* relative to the instruction base address */
  gpuprof_u64 recent[GPUPROF_BATCH_KERNELS]; /* of them, by their low bits: a kernel is mostly started often */
};

static inline __attribute__((always_inline)) void gpuprof_batch_add(struct gpuprof_batch_scan* scan, gpuprof_u32 low,
                                                                    gpuprof_u32 high, gpuprof_u32 kind) {
  gpuprof_u64 start = (((gpuprof_u64)(high & 0xffff) << 32) | low) & ~(gpuprof_u64)63;
  gpuprof_u32 count = scan->count;
  gpuprof_u64* recent = &scan->recent[(start >> 6) & (GPUPROF_BATCH_KERNELS - 1)];
  if (*recent == (start | kind | 2)) { /* 2: not the 0 of none */
    return;
  }
  *recent = start | kind | 2;
  if (count >= GPUPROF_BATCH_KERNELS) {
    scan->missed = 1;
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

/* The kernels of GPGPU_WALKER are named in memory: interface descriptors, of 32 bytes each. */
static inline __attribute__((always_inline)) void gpuprof_batch_take_media(struct gpuprof_batch_scan* scan,
                                                                           const gpuprof_u32* words) {
  if (words[0] == 0x70020002) { /* MEDIA_INTERFACE_DESCRIPTOR_LOAD */
    scan->descriptors = scan->dynamic ? scan->dynamic + words[3] : 0;
    scan->descriptors_bytes = words[2] & 0x1ffff;
  } else if ((words[0] & 0xffff00ff) == 0x7105000d) { /* GPGPU_WALKER, as long as from Gen8 on */
    gpuprof_u32 begin = (words[1] & 0x3f) * 32;
    if (scan->descriptors && begin + 32 <= scan->descriptors_bytes) {
      scan->descriptor = scan->descriptors + begin;
    } else {
      scan->missed = 1;
    }
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
  } else if (command == 0x7002 || command == 0x7105) {
    gpuprof_batch_take_media(scan, words);
  } else if (command == 0x6101) { /* STATE_BASE_ADDRESS, as from Gen8 on */
    if ((words[0] & 0xff) >= 10 && words[6] & 1) {
      scan->dynamic = (((gpuprof_u64)(words[7] & 0xffff) << 32) | words[6]) & ~(gpuprof_u64)0xfff;
    }
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
      scan->state = scan->missed ? GPUPROF_BATCH_CUT : GPUPROF_BATCH_ENDED;
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

/* What is read next, as the GPU has it. */
static inline __attribute__((always_inline)) gpuprof_u64 gpuprof_batch_next(const struct gpuprof_batch_scan* scan) {
  return scan->descriptor ? scan->descriptor : scan->at;
}

/* It cannot be read. */
static inline __attribute__((always_inline)) void gpuprof_batch_unreadable(struct gpuprof_batch_scan* scan) {
  if (scan->descriptor) {
    scan->descriptor = 0;
    scan->missed = 1;
  } else {
    scan->state = GPUPROF_BATCH_UNWRITTEN;
  }
}

/* What is at gpuprof_batch_next(): a command, or a descriptor. Of words that could not be read, 0. */
static inline __attribute__((always_inline)) void gpuprof_batch_step(struct gpuprof_batch_scan* scan,
                                                                     const gpuprof_u32* words) {
  gpuprof_u32 type = words[0] >> 29;
  gpuprof_u32 length;
  if (scan->descriptor) {
    scan->descriptor = 0;
    if (words[0] | words[1]) {
      gpuprof_batch_add(scan, words[0], words[1], 0);
    } else {
      scan->missed = 1;
    }
    return;
  }
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
