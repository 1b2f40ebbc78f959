// Finds out from CPU samples why the CPU of a rank is late.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "analyze/ranks/job.h"

namespace gpuprof::analyze {

// What a rank did longer than the others, in an interval.
struct CpuCause {
  std::string state;     // "on CPU", or why a launching thread was blocked: "sleeps", "waits: futex", ...
  std::string function;  // on CPU: the function whose calls hold most of the excess; empty if it is not known
  std::string location;  // "loader.cpp:95": the line of the function with the largest excess; empty if not known
  uint64_t ns = 0;       // time of the rank per block
  uint64_t others_ns = 0;
};

// Returns the causes in the blocks `first` to `last`, largest excess first. Returns nothing without CPU samples.
std::vector<CpuCause> cpu_causes(Job& job, size_t rank, uint64_t first, uint64_t last);

}  // namespace gpuprof::analyze
