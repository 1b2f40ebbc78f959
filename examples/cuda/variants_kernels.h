// One launch of each kind. Two source files include this file, and nvcc compiles them with different default streams.
// The driver's functions come from cudaGetDriverEntryPointByVersion, as in libraries. So nothing is linked with
// libcuda.
#pragma once

#include <cooperative_groups.h>
#include <cuda.h>

#include "setup.h"

namespace variants {

constexpr int kThreads = 32;

inline void check_driver(CUresult result, const char* what) {
  if (result != CUDA_SUCCESS) {
    std::fprintf(stderr, "%s: driver error %d\n", what, static_cast<int>(result));
    std::exit(1);
  }
}

template <typename Function>
Function driver_function(const char* name, unsigned version, bool per_thread) {
  void* address = nullptr;
  cudaDriverEntryPointQueryResult found = cudaDriverEntryPointSymbolNotFound;
  check(cudaGetDriverEntryPointByVersion(
            name, &address, version, per_thread ? cudaEnablePerThreadDefaultStream : cudaEnableLegacyStream, &found),
        name);
  if (found != cudaDriverEntryPointSuccess) {
    std::fprintf(stderr, "the driver has no %s\n", name);
    std::exit(1);
  }
  return reinterpret_cast<Function>(address);
}

inline CUfunction function_of(const void* kernel) {
  cudaFunction_t function = nullptr;
  check(cudaGetFuncBySymbol(&function, kernel), "cudaGetFuncBySymbol");
  return function;
}

}  // namespace variants
