/* Commands for an Intel GPU, of which batches are made. */
#ifndef COMMANDS_H
#define COMMANDS_H

#include <stdint.h>
#include <string.h>

#define CODE_AT 0x200000000ull /* instruction base address */

static inline uint32_t* put_jump(uint32_t* at, uint64_t to) {
  *at++ = 0x18800001; /* MI_BATCH_BUFFER_START */
  *at++ = (uint32_t)to;
  *at++ = (uint32_t)(to >> 32);
  return at;
}

/* Sets the instruction base address, and starts a kernel. */
static inline void put_kernel(uint32_t* at, uint64_t start) {
  uint32_t* base = at;
  memset(at, 0, 22 * 4);
  base[0] = 0x61010014; /* STATE_BASE_ADDRESS, 22 dwords */
  base[10] = (uint32_t)CODE_AT | 1;
  base[11] = (uint32_t)(CODE_AT >> 32);
  at += 22;
  memset(at, 0, 39 * 4);
  at[0] = 0x72080025; /* COMPUTE_WALKER, 39 dwords */
  at[18] = (uint32_t)start;
  at += 39;
  *at = 0x05000000; /* MI_BATCH_BUFFER_END */
}

#endif
