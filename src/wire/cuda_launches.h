// The CUDA calls that put work on a GPU: for CUPTI's callbacks in the injection library, and for `record -p`, which
// counts launches by uprobes in processes into which that library cannot be loaded.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace gpuprof {

// Returns whether a launch was made before another one. CUPTI's correlation ids have 32 bits, increase, and wrap
// around.
constexpr bool is_earlier_launch(uint32_t correlation, uint32_t other) {
  return static_cast<int32_t>(correlation - other) < 0;
}

enum class CudaWork : uint8_t {
  none,
  operation,  // one copy or fill
  kernel,
  several,  // any number of copies, fills or kernels with one correlation id
  graph     // the nodes of an executable graph, which all have one correlation id
};

struct CudaLaunch {
  // The start of the function's name after "cu" or "cuda". The first entry that matches is used.
  std::string_view beginning;
  CudaWork work;
  // Functions to count with uprobes. The runtime's functions call the driver's functions. Programs compiled for
  // per-thread default streams call the _ptsz variants.
  std::array<std::string_view, 2> in_driver = {};
  std::array<std::string_view, 2> in_runtime = {};
};

// Calls for prefetch and advice (cuMemPrefetchAsync) are missing here: CUPTI reports them only as unified memory
// counters.
inline constexpr CudaLaunch kCudaLaunches[] = {
    {"LaunchHostFunc", CudaWork::none},
    {"LaunchCooperativeKernelMultiDevice", CudaWork::several},
    {"LaunchCooperativeKernel",
     CudaWork::kernel,
     {"cuLaunchCooperativeKernel", "cuLaunchCooperativeKernel_ptsz"},
     {"cudaLaunchCooperativeKernel", "cudaLaunchCooperativeKernel_ptsz"}},
    {"LaunchKernelEx",
     CudaWork::kernel,
     {"cuLaunchKernelEx", "cuLaunchKernelEx_ptsz"},
     {"cudaLaunchKernelExC", "cudaLaunchKernelExC_ptsz"}},
    {"LaunchKernel",
     CudaWork::kernel,
     {"cuLaunchKernel", "cuLaunchKernel_ptsz"},
     {"cudaLaunchKernel", "cudaLaunchKernel_ptsz"}},
    {"Launch", CudaWork::kernel},
    {"GraphLaunch",
     CudaWork::graph,
     {"cuGraphLaunch", "cuGraphLaunch_ptsz"},
     {"cudaGraphLaunch", "cudaGraphLaunch_ptsz"}},
    {"MemcpyBatch", CudaWork::several},
    {"Memcpy3DBatch", CudaWork::several},
    {"Memcpy", CudaWork::operation},
    {"Memset", CudaWork::operation},
};

}  // namespace gpuprof
