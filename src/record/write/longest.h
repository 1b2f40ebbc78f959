#pragma once

#include <cstdint>

namespace gpuprof::record {

// The longest times among some rows.
struct Longest {
  uint64_t kernel_ns = 0;
  uint64_t wait_ns = 0;  // in a call that waited for the GPU
};

}  // namespace gpuprof::record
