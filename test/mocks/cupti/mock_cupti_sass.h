// The mock CUPTI's SASS metrics. The counts of each kernel launch are known. At 0x10: 8 instructions of 256 threads,
// with 256 sectors instead of the ideal 32. At 0x90: 8 instructions of 128 threads.
#pragma once

#include "mock_gpu.h"

namespace gpuprof::mock {

// Drops the counts of a module when its unload callback begins. Until end_unload(), reading counts is a violation.
void begin_unload(uint32_t module);
void end_unload();

void count_op(const Op& op, bool beside_records, bool patches_told);

}  // namespace gpuprof::mock
