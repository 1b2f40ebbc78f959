/* Scans batches by wire/batch_scan.h. Reads (number of dwords, dwords) for each batch from stdin. Prints a line for
 * each: state, unknown command, base address, and the start addresses in hexadecimal. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "wire/batch_scan.h"

#define AT 0x1000ull

int main(void) {
  uint32_t count;
  while (fread(&count, sizeof(count), 1, stdin) == 1) {
    uint32_t* batch = malloc((size_t)count * 4 + 1);
    struct gpuprof_batch_scan scan = {.at = AT};
    if (!batch || fread(batch, 4, count, stdin) != count) {
      return 1;
    }
    for (unsigned i = 0; i < GPUPROF_BATCH_COMMANDS && scan.state == GPUPROF_BATCH_RUNS; ++i) {
      uint32_t words[GPUPROF_BATCH_WINDOW] = {0};
      uint64_t index = (gpuprof_batch_next(&scan) - AT) / 4;
      if (index >= count) {
        gpuprof_batch_unreadable(&scan);
        continue;
      }
      uint32_t readable = count - index < GPUPROF_BATCH_WINDOW ? (uint32_t)(count - index) : GPUPROF_BATCH_WINDOW;
      memcpy(words, batch + index, readable * 4);
      gpuprof_batch_step(&scan, words, readable);
    }
    printf("%u %x %llx", scan.state, scan.unknown, (unsigned long long)scan.base);
    for (unsigned i = 0; i < scan.count; ++i) {
      printf(" %llx", (unsigned long long)scan.starts[i]);
    }
    printf("\n");
    free(batch);
  }
  return 0;
}
