// The mock CUPTI's SASS metrics. What it counts of each launch of a kernel is known: at 0x10 8 instructions of 256
// threads, with 256 sectors where 32 would do, and at 0x90 8 instructions of 128 threads.
#pragma once

#include "mock_gpu.h"

namespace gpuprof::mock {

// `beside_records`: activity records of kernels are on. `patches_told`: somebody listens to modules that were patched.
// A module is going: from the beginning of its callback on nothing may be read, and what it has counted is lost.
void begin_unload(uint32_t module);
void end_unload();

void count_op(const Op& op, bool beside_records, bool patches_told);

}  // namespace gpuprof::mock
