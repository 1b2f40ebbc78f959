#pragma once

#include <cstdint>

namespace gpuprof::record {

// The longest times among some rows.
struct Longest {
  uint64_t kernel_ns = 0;
  uint64_t wait_ns = 0;   // in a call that waited for the GPU
  uint64_t idle_ns = 0;   // in which a device had no work
  uint64_t range_ns = 0;  // of an NVTX range with the chosen name
  uint64_t lag_ns = 0;    // between two processes that end this range for the n-th time
};

}  // namespace gpuprof::record
