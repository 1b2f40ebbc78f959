// The CUDA calls that put work on a GPU: the one list for the injection library, which is called by CUPTI in each of
// them, and for `record -p`, which counts launches by uprobes where that library cannot be brought in.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace gpuprof {

enum class CudaWork : uint8_t {
  none,
  operation,  // one copy or fill
  kernel,
  several,  // any number of operations or kernels with one correlation id
  graph     // the nodes of an executable graph, all with one correlation id
};

struct CudaLaunch {
  std::string_view beginning;  // of the function's name after "cu" or "cuda"; the first row that fits counts
  CudaWork work;
  // The functions that a uprobe counts. The runtime's call the driver's. Their _ptsz variants are for programs whose
  // null stream is each thread's own.
  std::array<std::string_view, 2> in_driver = {};   // libcuda
  std::array<std::string_view, 2> in_runtime = {};  // libcudart
};

// Prefetching and advising (cuMemPrefetchAsync) are no launches: CUPTI has no record of them but the unified memory
// counters of what they move.
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
