// The launches of variants.cu on the per-thread default stream (compiled with --default-stream per-thread). These
// launches call the functions whose names end in _ptsz.
#include "variants.h"
#include "variants_kernels.h"

__global__ void tiny_per_thread(float* data) {
  data[threadIdx.x] = 2.0f;
}

namespace {

using variants::check_driver;
using variants::kThreads;

__attribute__((noinline)) void per_thread_chevrons(float* data, long launches) {
  for (long i = 0; i < launches; ++i) {
    tiny_per_thread<<<1, kThreads>>>(data);
  }
  check(cudaGetLastError(), "per_thread_chevrons");
}

__attribute__((noinline)) void per_thread_runtime(float* data, long launches) {
  void* arguments[] = {&data};
  for (long i = 0; i < launches; ++i) {
    check(cudaLaunchKernel(reinterpret_cast<const void*>(tiny_per_thread), dim3(1), dim3(kThreads), arguments, 0,
                           nullptr),
          "cudaLaunchKernel");
  }
}

__attribute__((noinline)) void per_thread_runtime_ex(float* data, long launches) {
  void* arguments[] = {&data};
  cudaLaunchConfig_t config = {};
  config.gridDim = dim3(1);
  config.blockDim = dim3(kThreads);
  for (long i = 0; i < launches; ++i) {
    check(cudaLaunchKernelExC(&config, reinterpret_cast<const void*>(tiny_per_thread), arguments),
          "cudaLaunchKernelExC");
  }
}

using LaunchKernel = CUresult (*)(CUfunction, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                                  CUstream, void**, void**);
using LaunchKernelEx = CUresult (*)(const CUlaunchConfig*, CUfunction, void**, void**);

__attribute__((noinline)) void per_thread_driver(CUfunction function, float* data, long launches) {
  const auto launch = variants::driver_function<LaunchKernel>("cuLaunchKernel", 7000, true);
  void* arguments[] = {&data};
  for (long i = 0; i < launches; ++i) {
    check_driver(launch(function, 1, 1, 1, kThreads, 1, 1, 0, nullptr, arguments, nullptr), "cuLaunchKernel");
  }
}

__attribute__((noinline)) void per_thread_driver_ex(CUfunction function, float* data, long launches) {
  const auto launch = variants::driver_function<LaunchKernelEx>("cuLaunchKernelEx", 11060, true);
  void* arguments[] = {&data};
  CUlaunchConfig config = {};
  config.gridDimX = config.gridDimY = config.gridDimZ = 1;
  config.blockDimX = kThreads;
  config.blockDimY = config.blockDimZ = 1;
  for (long i = 0; i < launches; ++i) {
    check_driver(launch(&config, function, arguments, nullptr), "cuLaunchKernelEx");
  }
}

}  // namespace

void launch_all_per_thread(float* data, long launches) {
  const CUfunction function = variants::function_of(reinterpret_cast<const void*>(tiny_per_thread));
  per_thread_chevrons(data, launches);
  per_thread_runtime(data, launches);
  per_thread_runtime_ex(data, launches);
  per_thread_driver(function, data, launches);
  per_thread_driver_ex(function, data, launches);
}
