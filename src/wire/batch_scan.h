/* Finds the kernels that a batch of commands for an Intel GPU starts, one command per step. The caller reads the
 * memory: a BPF program (bpf/batch_buffers.h) or a test. Plain C without libc. The target wrote the batch, so it may
 * hold anything. */
#ifndef GPUPROF_WIRE_BATCH_SCAN_H
#define GPUPROF_WIRE_BATCH_SCAN_H

#include "wire/bpf_events.h"

#define GPUPROF_BATCH_KERNELS 64    /* limit of kernels stored per batch, a power of two; the first ones are kept */
#define GPUPROF_BATCH_COMMANDS 4096 /* limit of commands scanned per batch */
#define GPUPROF_BATCH_WINDOW 20     /* dwords read from the start of each command */
#define GPUPROF_BATCH_DEPTH 3       /* limit of nested batch calls */
#define GPUPROF_BATCH_JUMPS 16      /* limit of jumps to other buffers, of all kinds */
#define GPUPROF_BATCH_NOOPS 64      /* after this many no-ops in a row, the memory counts as never written */

/* Flag in a kernel's start address: this is the system routine and not a kernel. The bit is free, because start
 * addresses are multiples of 64. */
#define GPUPROF_BATCH_SYSTEM_ROUTINE 1

enum gpuprof_batch_state {
  GPUPROF_BATCH_RUNS = 0,
  GPUPROF_BATCH_ENDED = 1,
  GPUPROF_BATCH_UNWRITTEN = 2, /* the batch is incomplete, or the memory holds no batch */
  GPUPROF_BATCH_CUT = 3        /* the scan reached one of its limits */
};

struct gpuprof_batch_scan {
  gpuprof_u64 at;      /* GPU address of the next command */
  gpuprof_u64 base;    /* instruction base address; 0: the batch has not set one */
  gpuprof_u64 back[4]; /* GPU addresses at which the calling batches continue */
  /* Only Gen8 to Gen12 use the next three fields. */

  /* Dynamic state base address. It comes from an earlier batch until this batch sets it. 0: unknown. */
  gpuprof_u64 dynamic;
  gpuprof_u64 descriptors; /* address of the interface descriptors; 0: unknown */
  /* Address of a descriptor that the caller reads next, instead of a command. 0: the caller reads a command. */
  gpuprof_u64 descriptor;
  gpuprof_u32 descriptors_bytes;
  /* 1: a kernel was left out, because its descriptor is unknown or missing, or because `starts` is full. */
  gpuprof_u32 missed;
  gpuprof_u32 depth; /* number of calling batches in `back` */
  gpuprof_u32 jumps;
  gpuprof_u32 noops; /* no-ops since the last other command */
  gpuprof_u32 state;
  gpuprof_u32 count;
  gpuprof_u32 pad;
  gpuprof_u64 starts[GPUPROF_BATCH_KERNELS]; /* start addresses of kernels, relative to the instruction base address */
  /* Recently stored starts, indexed by their low bits, to skip repetitions. */
  gpuprof_u64 recent[GPUPROF_BATCH_KERNELS];
};

static inline __attribute__((always_inline)) void gpuprof_batch_add(struct gpuprof_batch_scan* scan, gpuprof_u32 low,
                                                                    gpuprof_u32 high, gpuprof_u32 kind) {
  gpuprof_u64 start = (((gpuprof_u64)(high & 0xffff) << 32) | low) & ~(gpuprof_u64)63;
  gpuprof_u32 count = scan->count;
  gpuprof_u64* recent = &scan->recent[(start >> 6) & (GPUPROF_BATCH_KERNELS - 1)];
  if (*recent == (start | kind | 2)) { /* bit 1 is set in each stored entry, so an empty entry never matches */
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

/* Handles a command of the 3D pipeline that contains kernel addresses. */
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
    case 0x7820: /* 3DSTATE_PS: up to three kernels, one per SIMD width */
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

/* Handles a media command. GPGPU_WALKER names its kernel by an interface descriptor, which is 32 bytes in memory. */
static inline __attribute__((always_inline)) void gpuprof_batch_take_media(struct gpuprof_batch_scan* scan,
                                                                           const gpuprof_u32* words) {
  if (words[0] == 0x70020002) { /* MEDIA_INTERFACE_DESCRIPTOR_LOAD */
    scan->descriptors = scan->dynamic ? scan->dynamic + words[3] : 0;
    scan->descriptors_bytes = words[2] & 0x1ffff;
  } else if ((words[0] & 0xffff00ff) == 0x7105000d) { /* GPGPU_WALKER in the form that it has since Gen8 */
    gpuprof_u32 begin = (words[1] & 0x3f) * 32;
    if (scan->descriptors && begin + 32 <= scan->descriptors_bytes) {
      scan->descriptor = scan->descriptors + begin;
    } else {
      scan->missed = 1;
    }
  }
}

/* Handles a command of the 3D, compute and media pipelines. Returns its length in dwords. */
static inline __attribute__((always_inline)) gpuprof_u32 gpuprof_batch_take_pipeline(struct gpuprof_batch_scan* scan,
                                                                                     const gpuprof_u32* words) {
  gpuprof_u32 command = words[0] >> 16;
  gpuprof_u32 subtype = (words[0] >> 27) & 3;
  if (subtype == 1) { /* PIPELINE_SELECT and the like */
    return 1;
  }
  if (command == 0x7208) { /* COMPUTE_WALKER, which contains the interface descriptor */
    gpuprof_batch_add(scan, words[18], words[19], 0);
  } else if (command == 0x7002 || command == 0x7105) {
    gpuprof_batch_take_media(scan, words);
  } else if (command == 0x6101) { /* STATE_BASE_ADDRESS in the form that it has since Gen8 */
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

/* Continues the scan at `to`. If `call` is set, the scan later returns to the command after the jump. */
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

/* Handles a command of the memory interface. Returns its length in dwords, or 0 if the scan continues at another
 * address. */
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

/* Returns the GPU address that the caller must read for the next step. */
static inline __attribute__((always_inline)) gpuprof_u64 gpuprof_batch_next(const struct gpuprof_batch_scan* scan) {
  return scan->descriptor ? scan->descriptor : scan->at;
}

/* The caller calls this if it cannot read the memory at gpuprof_batch_next(). */
static inline __attribute__((always_inline)) void gpuprof_batch_unreadable(struct gpuprof_batch_scan* scan) {
  if (scan->descriptor) {
    scan->descriptor = 0;
    scan->missed = 1;
  } else {
    scan->state = GPUPROF_BATCH_UNWRITTEN;
  }
}

/* Handles the words at gpuprof_batch_next(), which are a command or a descriptor. The caller passes 0 for words that
 * it cannot read. */
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
