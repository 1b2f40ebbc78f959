#include <algorithm>
#include <set>
#include <string>

#include "backend/backend.h"
#include "catch.h"
#include "wire/cuda_launches.h"

using gpuprof::backend::LaunchFunction;

TEST_CASE("libcuda functions count every launch; runtime functions do so if libcuda cannot be probed") {
  const auto all = gpuprof::backend::make_all();
  const auto cuda = std::find_if(all.begin(), all.end(),
                                 [](const auto& one) { return std::string_view(one->descriptor().name) == "cupti"; });
  REQUIRE(cuda != all.end());
  std::set<std::string> inner;
  std::set<std::string> outer;
  for (const LaunchFunction& function : (*cuda)->launch_functions()) {
    CHECK(function.library == (function.outer ? "libcudart.so" : "libcuda.so"));
    CHECK(function.in_program == function.outer);
    (function.outer ? outer : inner).emplace(function.symbol);
  }
  CHECK(inner == std::set<std::string>{"cuGraphLaunch", "cuGraphLaunch_ptsz", "cuLaunchCooperativeKernel",
                                       "cuLaunchCooperativeKernel_ptsz", "cuLaunchKernel", "cuLaunchKernelEx",
                                       "cuLaunchKernelEx_ptsz", "cuLaunchKernel_ptsz"});
  CHECK(outer.size() == inner.size());
  CHECK(outer.contains("cudaLaunchKernelExC"));
}

TEST_CASE("each counted function launches kernels or a graph") {
  for (const gpuprof::CudaLaunch& launch : gpuprof::kCudaLaunches) {
    const bool counted = !launch.in_driver[0].empty();
    CHECK(counted == !launch.in_runtime[0].empty());
    if (counted) {
      CHECK((launch.work == gpuprof::CudaWork::kernel || launch.work == gpuprof::CudaWork::graph));
      CHECK(launch.in_driver[0].substr(2).starts_with(launch.beginning));
      CHECK(launch.in_runtime[0].substr(4).starts_with(launch.beginning));
    }
  }
}
