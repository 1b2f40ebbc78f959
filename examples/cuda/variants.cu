// Launches a kernel in every possible way. Each way has its own function, which launches L times.
//
//   example_cuda_variants [--launches L]
#include "expect.h"
#include "variants.h"
#include "variants_kernels.h"

__global__ void tiny(float* data) {
  data[threadIdx.x] = 1.0f;
}

namespace {

using variants::check_driver;
using variants::kThreads;

__attribute__((noinline)) void launch_chevrons(float* data, long launches) {
  for (long i = 0; i < launches; ++i) {
    tiny<<<1, kThreads>>>(data);
  }
  check(cudaGetLastError(), "launch_chevrons");
}

__attribute__((noinline)) void launch_runtime(float* data, long launches) {
  void* arguments[] = {&data};
  for (long i = 0; i < launches; ++i) {
    check(cudaLaunchKernel(reinterpret_cast<const void*>(tiny), dim3(1), dim3(kThreads), arguments, 0, nullptr),
          "cudaLaunchKernel");
  }
}

__attribute__((noinline)) void launch_runtime_ex(float* data, long launches) {
  void* arguments[] = {&data};
  cudaLaunchConfig_t config = {};
  config.gridDim = dim3(1);
  config.blockDim = dim3(kThreads);
  for (long i = 0; i < launches; ++i) {
    check(cudaLaunchKernelExC(&config, reinterpret_cast<const void*>(tiny), arguments), "cudaLaunchKernelExC");
  }
}

__attribute__((noinline)) void launch_cooperative(float* data, long launches) {
  void* arguments[] = {&data};
  for (long i = 0; i < launches; ++i) {
    check(cudaLaunchCooperativeKernel(reinterpret_cast<const void*>(tiny), dim3(1), dim3(kThreads), arguments, 0,
                                      nullptr),
          "cudaLaunchCooperativeKernel");
  }
}

using LaunchKernel = CUresult (*)(CUfunction, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                                  CUstream, void**, void**);
using LaunchKernelEx = CUresult (*)(const CUlaunchConfig*, CUfunction, void**, void**);
using LaunchCooperative = CUresult (*)(CUfunction, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                                       CUstream, void**);

__attribute__((noinline)) void launch_driver(CUfunction function, float* data, long launches) {
  const auto launch = variants::driver_function<LaunchKernel>("cuLaunchKernel", 4000, false);
  void* arguments[] = {&data};
  for (long i = 0; i < launches; ++i) {
    check_driver(launch(function, 1, 1, 1, kThreads, 1, 1, 0, nullptr, arguments, nullptr), "cuLaunchKernel");
  }
}

__attribute__((noinline)) void launch_driver_ex(CUfunction function, float* data, long launches) {
  const auto launch = variants::driver_function<LaunchKernelEx>("cuLaunchKernelEx", 11060, false);
  void* arguments[] = {&data};
  CUlaunchConfig config = {};
  config.gridDimX = config.gridDimY = config.gridDimZ = 1;
  config.blockDimX = kThreads;
  config.blockDimY = config.blockDimZ = 1;
  for (long i = 0; i < launches; ++i) {
    check_driver(launch(&config, function, arguments, nullptr), "cuLaunchKernelEx");
  }
}

__attribute__((noinline)) void launch_driver_cooperative(CUfunction function, float* data, long launches) {
  const auto launch = variants::driver_function<LaunchCooperative>("cuLaunchCooperativeKernel", 9000, false);
  void* arguments[] = {&data};
  for (long i = 0; i < launches; ++i) {
    check_driver(launch(function, 1, 1, 1, kThreads, 1, 1, 0, nullptr, arguments), "cuLaunchCooperativeKernel");
  }
}

// The driver rejects this launch. It counts as failed and has no GPU work.
__attribute__((noinline)) void launch_refused(float* data, long launches) {
  for (long i = 0; i < launches; ++i) {
    tiny<<<1, 4096>>>(data);
    if (cudaGetLastError() == cudaSuccess) {
      std::fprintf(stderr, "a block of 4096 threads was accepted\n");
      std::exit(1);
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  const long launches = option(argc, argv, "--launches", 50);
  float* data = nullptr;
  check(cudaMalloc(&data, kThreads * sizeof(float)), "cudaMalloc");
  const CUfunction function = variants::function_of(reinterpret_cast<const void*>(tiny));

  launch_chevrons(data, launches);
  launch_runtime(data, launches);
  launch_runtime_ex(data, launches);
  launch_cooperative(data, launches);
  launch_driver(function, data, launches);
  launch_driver_ex(function, data, launches);
  launch_driver_cooperative(function, data, launches);
  launch_refused(data, launches);
  launch_all_per_thread(data, launches);
  check(cudaDeviceSynchronize(), "cudaDeviceSynchronize");

  for (const char* site :
       {"launch_chevrons", "launch_runtime", "launch_runtime_ex", "launch_cooperative", "launch_driver",
        "launch_driver_ex", "launch_driver_cooperative", "per_thread_chevrons", "per_thread_runtime",
        "per_thread_runtime_ex", "per_thread_driver", "per_thread_driver_ex"}) {
    expect(("site." + std::string(site)).c_str(), launches);
  }
  expect("records", 12 * launches);
  expect("failed_launches", launches);
  expect("site.launch_refused", 0);
  check(cudaFree(data), "cudaFree");
  return 0;
}
