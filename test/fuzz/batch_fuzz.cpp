// Fuzzes the scan of GPU command batches: it must end, read only the batches, and keep the limits of wire/batch_scan.h.
#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>
#include <cstring>

#include "wire/batch_scan.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  gpuprof_batch_scan scan{};
  for (unsigned i = 0; i < GPUPROF_BATCH_COMMANDS && scan.state == GPUPROF_BATCH_RUNS; ++i) {
    std::array<uint32_t, GPUPROF_BATCH_WINDOW> words{};
    const uint64_t at = gpuprof_batch_next(&scan) % (size + 1);  // the modulo keeps all jumps inside the input
    const size_t bytes = std::min<size_t>(sizeof(words), size - at);
    std::memcpy(words.data(), data + at, bytes);
    const gpuprof_batch_scan before = scan;
    gpuprof_batch_step(&scan, words.data(), std::max<uint32_t>(1, static_cast<uint32_t>(bytes / 4)));
    const bool moved = scan.at != before.at || scan.descriptor != before.descriptor || scan.state != before.state ||
                       scan.jumps != before.jumps || scan.depth != before.depth;
    if (!moved || scan.count > GPUPROF_BATCH_KERNELS || scan.depth > GPUPROF_BATCH_DEPTH ||
        scan.jumps > GPUPROF_BATCH_JUMPS) {
      std::abort();
    }
  }
  return 0;
}
