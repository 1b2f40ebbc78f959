/* Writes commands for batches of an Intel GPU. */
#ifndef COMMANDS_H
#define COMMANDS_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "intel_layouts.h"

#define CODE_AT 0x200000000ull /* instruction base address */

static inline uint32_t* put_jump(uint32_t* at, uint64_t to) {
  *at++ = 0x18800001; /* MI_BATCH_BUFFER_START */
  *at++ = (uint32_t)to;
  *at++ = (uint32_t)(to >> 32);
  return at;
}

/* Returns the commands of the generation in the environment variable GENERATION. */
static inline const struct layout* used_layout(void) {
  const char* generation = getenv("GENERATION");
  for (unsigned i = 0; i < sizeof(layouts) / sizeof(layouts[0]); ++i) {
    if (!generation || !strcmp(layouts[i].generation, generation)) {
      return &layouts[i];
    }
  }
  fprintf(stderr, "unknown GENERATION %s\n", generation);
  exit(1);
}

/* Sets the instruction base address, or switches the base addresses off. Then starts the kernel at `start` bytes from
 * the base address. Returns the address of the command that ends the batch. */
static inline uint32_t* put_kernel_from(uint32_t* at, uint64_t base, uint64_t start) {
  const struct layout* layout = used_layout();
  memset(at, 0, 22 * 4);
  at[0] = 0x61010014; /* STATE_BASE_ADDRESS, 22 dwords */
  at[3] = layout->bases_off;
  if (!layout->bases_off) {
    at[10] = (uint32_t)base | 1;
    at[11] = (uint32_t)(base >> 32);
  }
  at += 22;
  memcpy(at, layout->barrier, layout->barrier_dwords * 4);
  at += layout->barrier_dwords;
  memcpy(at, layout->walker, layout->walker_dwords * 4);
  at[layout->start] |= (uint32_t)start;
  at += layout->walker_dwords;
  *at = 0x05000000; /* MI_BATCH_BUFFER_END */
  return at;
}

static inline uint32_t* put_kernel(uint32_t* at, uint64_t start) {
  return put_kernel_from(at, CODE_AT, start);
}

#define DESCRIPTOR_BYTES 32

/* Starts a kernel on GPUs up to Gen12, through an interface descriptor. `dynamic` is the address of the descriptors; 0
 * keeps the address that the previous batch set. */
static inline void put_older_kernel(uint32_t* at, uint64_t dynamic, unsigned descriptor) {
  memset(at, 0, 19 * 4);
  at[0] = 0x61010011; /* STATE_BASE_ADDRESS, 19 dwords */
  at[6] = dynamic ? (uint32_t)dynamic | 1 : 0;
  at[7] = (uint32_t)(dynamic >> 32);
  at[10] = (uint32_t)CODE_AT | 1;
  at[11] = (uint32_t)(CODE_AT >> 32);
  at += 19;
  memset(at, 0, 4 * 4);
  at[0] = 0x70020002; /* MEDIA_INTERFACE_DESCRIPTOR_LOAD */
  at[2] = 2 * DESCRIPTOR_BYTES;
  at += 4;
  memset(at, 0, 15 * 4);
  at[0] = 0x7105000d; /* GPGPU_WALKER */
  at[1] = descriptor;
  at += 15;
  *at = 0x05000000; /* MI_BATCH_BUFFER_END */
}

#endif
