// Summarizes when the thread blocks of a launch ran, for the record BLOCKS.
#pragma once

#include <cstddef>
#include <cstdint>

#include "wire/wire.h"

namespace gpuprof::injection::cupti {

// What a probed kernel writes for each thread block (ptx_probes.h), at the place of its linear id.
struct BlockTimes {
  uint64_t start_ns;  // %globaltimer when its first thread started
  uint64_t end_ns;    // and when its last thread ended
  uint32_t sm;        // %smid
  uint32_t block;     // low 32 bits of the linear id
  uint64_t grid;      // %gridid, which CUPTI's record of the kernel has, too
};

struct GridShape {
  uint32_t x, y, z;

  [[nodiscard]] uint64_t blocks() const { return uint64_t{x} * y * z; }
};

// Drops what was not written by the grid `grid_id`: blocks that did not end, and blocks of an earlier launch. Orders
// the others by their start. Returns how many they are.
size_t keep_written(BlockTimes* blocks, size_t count, uint64_t grid_id);

// Summarizes `count` blocks, at least 1, as keep_written() leaves them. Returns a record from malloc with its buckets,
// without header, correlation and device_sms. Returns null if memory is exhausted.
gpuprof_blocks* summarize_blocks(const BlockTimes* blocks, size_t count, const GridShape& shape);

}  // namespace gpuprof::injection::cupti
