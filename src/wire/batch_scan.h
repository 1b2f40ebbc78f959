/* Finds the kernels that a batch of commands for an Intel GPU starts, one command per step. The caller reads the
 * memory: a BPF program (bpf/jobs/batch_buffers.h) or a test. Plain C without libc. The target wrote the batch, so it
 * may hold anything. */
#ifndef GPUPROF_WIRE_BATCH_SCAN_H
#define GPUPROF_WIRE_BATCH_SCAN_H

#include "wire/bpf_events.h"
#include "wire/gpu_commands.h"

#define GPUPROF_BATCH_KERNELS 64    /* limit of kernels stored per batch, a power of two; the first ones are kept */
#define GPUPROF_BATCH_COMMANDS 4096 /* limit of commands scanned per batch */
#define GPUPROF_BATCH_WINDOW 32     /* dwords read from the start of each command, a power of two */
#define GPUPROF_BATCH_DEPTH 3       /* limit of nested batch calls */
#define GPUPROF_BATCH_JUMPS 16      /* limit of jumps to other buffers, of all kinds */
#define GPUPROF_BATCH_NOOPS 64      /* after this many no-ops in a row, the memory counts as never written */

/* Flag in a kernel's start address: this is the system routine and not a kernel. The bit is free, because start
 * addresses are multiples of 64. */
#define GPUPROF_BATCH_SYSTEM_ROUTINE 1

/* Stands for a base address, which is a multiple of 4096: the batch has switched all base addresses off, so kernels
 * have whole addresses. compute-runtime does so on Xe3p, once for each exec queue. */
#define GPUPROF_BATCH_NO_BASE 1

enum gpuprof_batch_state {
  GPUPROF_BATCH_RUNS = 0,
  GPUPROF_BATCH_ENDED = 1,
  GPUPROF_BATCH_UNWRITTEN = 2, /* the batch is incomplete, or the memory holds no batch */
  GPUPROF_BATCH_CUT = 3,       /* the scan reached one of its limits */
  GPUPROF_BATCH_UNKNOWN = 4    /* the scan met a command that is in no table, or memory that is not written yet */
};

struct gpuprof_batch_scan {
  gpuprof_u64 at;      /* GPU address of the next command */
  gpuprof_u64 base;    /* instruction base address, or GPUPROF_BATCH_NO_BASE; 0: the batch has not set one */
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
  gpuprof_u32 unknown;                       /* in the state GPUPROF_BATCH_UNKNOWN: first dword of the command */
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

/* Returns the key of a command in the tables of wire/gpu_commands.h: bits 31:16 of its first dword, without the bits
 * that are not part of the opcode. */
static inline __attribute__((always_inline)) gpuprof_u32 gpuprof_batch_key(gpuprof_u32 dword) {
  gpuprof_u32 high = dword >> 16;
  switch (dword >> 29) {
    case 0: /* memory interface */
      return high & 0xff80;
    case 2: /* blitter */
      return high & 0xffc0;
    case 5: /* barriers */
      return high & 0xfc00;
    default:
      if ((high & 0xff00) == 0x7200) { /* bits 17:16 of compute commands are a variant of the command */
        return high & 0xfffc;
      }
      return (high & 0xff80) == 0x7d80 ? 0x7d80 : high; /* bits 22:16 of L3_CONTROL are flags */
  }
}

/* Returns the length of a command in dwords, or 0 if the command is unknown. */
static inline __attribute__((always_inline)) gpuprof_u32 gpuprof_batch_length(gpuprof_u32 key, gpuprof_u32 dword) {
#define GPUPROF_ROW(opcode, mask, length_bits, names, source) \
  case opcode:                                                \
    return (length_bits) ? (dword & ((1U << (length_bits)) - 1)) + 2 : 1;
  switch (key) {
    GPUPROF_GPU_COMMANDS(GPUPROF_ROW)
    default:
      return 0;
  }
#undef GPUPROF_ROW
}

/* Describes where a command holds kernel addresses: the indices of up to three dwords in bits 7:0, 15:8 and 23:16, and
 * these flags. 0: the command holds none. */
#define GPUPROF_BATCH_WIDE (1U << 30)   /* an address ends in the next dword */
#define GPUPROF_BATCH_SHADER (1U << 31) /* the address 0 means that the shader is off */

static inline __attribute__((always_inline)) gpuprof_u32 gpuprof_batch_places(gpuprof_u32 key, gpuprof_u32 dwords) {
#define GPUPROF_ROW(opcode, length, bits, is_shader, first, second, third, source)            \
  case ((opcode) << 16) + (length):                                                           \
    return (first) | (second) << 8 | (third) << 16 | ((bits) > 26 ? GPUPROF_BATCH_WIDE : 0) | \
           ((is_shader) ? GPUPROF_BATCH_SHADER : 0);
  switch (dwords > 0xff ? 0 : (key << 16) + dwords) {
    GPUPROF_GPU_KERNELS(GPUPROF_ROW)
    default:
      return 0;
  }
#undef GPUPROF_ROW
}

/* Returns whether the scan cannot read a command, because it has an unknown length although it is one that this header
 * must read. */
static inline __attribute__((always_inline)) int gpuprof_batch_is_strange(gpuprof_u32 key, gpuprof_u32 dwords,
                                                                          gpuprof_u32 places) {
#define GPUPROF_ROW(opcode, length, bits, is_shader, first, second, third, source) || key == (opcode)
  if (key == 0x6101) { /* STATE_BASE_ADDRESS */
    return dwords < 12;
  }
  if (key == 0x7105) { /* GPGPU_WALKER */
    return dwords != 15;
  }
  return !places && (0 GPUPROF_GPU_KERNELS(GPUPROF_ROW));
#undef GPUPROF_ROW
}

static inline __attribute__((always_inline)) void gpuprof_batch_take_kernel(struct gpuprof_batch_scan* scan,
                                                                            const gpuprof_u32* words,
                                                                            gpuprof_u32 places, gpuprof_u32 at) {
  gpuprof_u32 low = words[at & (GPUPROF_BATCH_WINDOW - 1)] & ~63U;
  gpuprof_u32 high = places & GPUPROF_BATCH_WIDE ? words[(at + 1) & (GPUPROF_BATCH_WINDOW - 1)] : 0;
  if (at && ((low | high) || !(places & GPUPROF_BATCH_SHADER))) {
    gpuprof_batch_add(scan, low, high, 0);
  }
}

/* Handles the commands of Gen8 to Gen12 that name a kernel by an interface descriptor, which is 32 bytes in memory. */
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

/* Handles a command that sets a base address or the system routine. */
static inline __attribute__((always_inline)) void gpuprof_batch_take_state(struct gpuprof_batch_scan* scan,
                                                                           gpuprof_u32 key, gpuprof_u32 dwords,
                                                                           const gpuprof_u32* words) {
  if (key == 0x6101) { /* STATE_BASE_ADDRESS in the form that it has since Gen8 */
    if (words[6] & 1) {
      scan->dynamic = (((gpuprof_u64)(words[7] & 0xffff) << 32) | words[6]) & ~(gpuprof_u64)0xfff;
    }
    if (words[3] & 1U << 30) { /* only Xe3p has this flag */
      scan->base = GPUPROF_BATCH_NO_BASE;
    } else if (words[10] & 1) {
      scan->base = (((gpuprof_u64)(words[11] & 0xffff) << 32) | words[10]) & ~(gpuprof_u64)0xfff;
    }
  } else if (key == 0x6102 && dwords == 3) { /* STATE_SIP */
    gpuprof_batch_add(scan, words[1], words[2], GPUPROF_BATCH_SYSTEM_ROUTINE);
  }
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

/* Handles a command that ends the batch or jumps. Returns 1 if the scan continues at another address. */
static inline __attribute__((always_inline)) int gpuprof_batch_take_jump(struct gpuprof_batch_scan* scan,
                                                                         gpuprof_u32 key, const gpuprof_u32* words) {
  if (key == 0x0500) { /* MI_BATCH_BUFFER_END */
    if (scan->depth == 0) {
      scan->state = scan->missed ? GPUPROF_BATCH_CUT : GPUPROF_BATCH_ENDED;
    } else {
      --scan->depth;
      scan->at = scan->back[scan->depth & 3];
    }
    return 1;
  }
  if (key == 0x1880) { /* MI_BATCH_BUFFER_START */
    gpuprof_u64 to = (((gpuprof_u64)(words[2] & 0xffff) << 32) | words[1]) & ~(gpuprof_u64)3;
    gpuprof_batch_jump(scan, to, (words[0] >> 22) & 1);
    return 1;
  }
  return 0;
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

/* Handles the words at gpuprof_batch_next(), which are a command or a descriptor. `count` is the number of words that
 * the caller could read, and at least 1. The other words of the window are 0. */
static inline __attribute__((always_inline)) void gpuprof_batch_step(struct gpuprof_batch_scan* scan,
                                                                     const gpuprof_u32* words, gpuprof_u32 count) {
  gpuprof_u32 key = gpuprof_batch_key(words[0]);
  gpuprof_u32 dwords;
  gpuprof_u32 places;
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
  dwords = gpuprof_batch_length(key, words[0]);
  places = gpuprof_batch_places(key, dwords);
  if (dwords == 0 || gpuprof_batch_is_strange(key, dwords, places)) {
    scan->unknown = words[0];
    scan->state = GPUPROF_BATCH_UNKNOWN;
    return;
  }
  if (dwords > count && count < GPUPROF_BATCH_WINDOW) { /* the command continues in memory that cannot be read */
    scan->state = GPUPROF_BATCH_UNWRITTEN;
    return;
  }
  if (gpuprof_batch_take_jump(scan, key, words)) {
    return;
  }
  if (places) {
    gpuprof_batch_take_kernel(scan, words, places, places & 0xff);
    gpuprof_batch_take_kernel(scan, words, places, (places >> 8) & 0xff);
    gpuprof_batch_take_kernel(scan, words, places, (places >> 16) & 0xff);
  } else if (key == 0x7002 || key == 0x7105) {
    gpuprof_batch_take_media(scan, words);
  } else {
    gpuprof_batch_take_state(scan, key, dwords, words);
  }
  scan->at += 4 * (gpuprof_u64)dwords;
}

#endif /* GPUPROF_WIRE_BATCH_SCAN_H */
