// The device memory in which probed kernels write the times of their thread blocks, and the launches that use it.
#pragma once

#include <cstdint>

#include "cupti/api/cuda_abi.h"
#include "cupti/probes/block_summary.h"
#include "wire/wire.h"

namespace gpuprof::injection::cupti {

// Takes memory for the blocks of a launch in the current context, whose handle is `context`. Returns its address, or 0
// without memory: too many launches are unread. Call it in an OwnCalls.
uint64_t take_block_memory(CUcontext context, uint64_t correlation, const GridShape& shape);

// Gives the memory of a launch back that the driver refused.
void cancel_block_memory(uint64_t correlation);

// Keeps the work of a probed launch until its blocks are read. `grid_id`: of CUPTI's record. Returns false if the
// launch is not probed: then the caller sends the work.
bool keep_for_blocks(const gpuprof_gpu_op& op, uint64_t grid_id);

// Reads the blocks of ended launches, and sends them before the launches' work.
// `context`: reads only this context's. Null: reads all. After `until_ns`, sends only the work.
void read_blocks(CUcontext context, uint64_t until_ns);

// The context will be destroyed, and its memory with it.
void forget_block_memory(CUcontext context);

// Whether a copy on this stream, or memory at this address, is ours and not the target's.
bool is_own_stream(uint32_t context_id, uint32_t stream_id);
bool is_own_memory(uint64_t address);

struct BlockCounts {
  uint64_t launches;   // whose blocks were sent
  uint64_t unread;     // whose blocks could not be read
  uint64_t gpu_bytes;  // of device memory in use
};
BlockCounts block_counts();

}  // namespace gpuprof::injection::cupti
