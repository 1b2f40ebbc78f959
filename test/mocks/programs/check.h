// Ends a program if a call of the driver fails.
#pragma once

#include <cuda.h>

#include <cstdio>
#include <cstdlib>

namespace gpuprof::mock_app {

inline void check(CUresult result, const char* what) {
  if (result != CUDA_SUCCESS) {
    std::fprintf(stderr, "%s: error %d\n", what, static_cast<int>(result));
    std::exit(1);
  }
}

// Makes the context of the first device current.
inline void open_context() {
  CUdevice device = 0;
  CUcontext context = nullptr;
  check(cuInit(0), "cuInit");
  check(cuDeviceGet(&device, 0), "cuDeviceGet");
  check(cuDevicePrimaryCtxRetain(&context, device), "cuDevicePrimaryCtxRetain");
  check(cuCtxSetCurrent(context), "cuCtxSetCurrent");
}

}  // namespace gpuprof::mock_app

#define CHECK(call) ::gpuprof::mock_app::check(call, #call)
