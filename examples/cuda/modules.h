// Loads and unloads modules, with a known result: 25 kernels with different names. Each kernel has its own module,
// which is repeatedly loaded, used and unloaded. modules.cu uses this file. So does the same program on the tests' mock
// driver.
#pragma once

#include <cuda.h>

#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>

#include "expect.h"

namespace churn {

constexpr int kNames = 25;

inline void check_driver(CUresult result, const char* what) {
  if (result != CUDA_SUCCESS) {
    std::fprintf(stderr, "%s: error %d\n", what, static_cast<int>(result));
    std::exit(1);
  }
}
#define CHURN_CHECK(call) churn::check_driver(call, #call)

inline std::string name_of(long number) {
  char name[32];
  std::snprintf(name, sizeof(name), "churned_%02d", static_cast<int>(number % kNames));
  return name;
}

class Loaded {
 public:
  Loaded(const std::string& image, const std::string& name, bool as_library) {
    if (as_library) {
      CUkernel kernel = nullptr;
      CHURN_CHECK(cuLibraryLoadData(&library_, image.c_str(), nullptr, nullptr, 0, nullptr, nullptr, 0));
      CHURN_CHECK(cuLibraryGetKernel(&kernel, library_, name.c_str()));
      function = reinterpret_cast<CUfunction>(kernel);
    } else {
      CHURN_CHECK(cuModuleLoadData(&module_, image.c_str()));
      CHURN_CHECK(cuModuleGetFunction(&function, module_, name.c_str()));
    }
  }
  Loaded(const Loaded&) = delete;
  Loaded& operator=(const Loaded&) = delete;
  ~Loaded() {
    if (library_ != nullptr) {
      CHURN_CHECK(cuLibraryUnload(library_));
    } else {
      CHURN_CHECK(cuModuleUnload(module_));
    }
  }

  CUfunction function = nullptr;

 private:
  CUmodule module_ = nullptr;
  CUlibrary library_ = nullptr;
};

inline CUDA_KERNEL_NODE_PARAMS node_of(CUfunction function) {
  CUDA_KERNEL_NODE_PARAMS node = {};
  node.func = function;
  node.gridDimX = node.gridDimY = node.gridDimZ = 1;
  node.blockDimX = 32;
  node.blockDimY = node.blockDimZ = 1;
  return node;
}

__attribute__((noinline)) inline void launch_eager(CUfunction function, CUstream stream) {
  CHURN_CHECK(cuLaunchKernel(function, 1, 1, 1, 32, 1, 1, 0, stream, nullptr, nullptr));
  asm volatile("");  // keeps this function's frame on the stack
}

__attribute__((noinline)) inline CUgraph capture_kernel(CUfunction function, CUstream stream) {
  CUgraph graph = nullptr;
  CHURN_CHECK(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
  CHURN_CHECK(cuLaunchKernel(function, 1, 1, 1, 32, 1, 1, 0, stream, nullptr, nullptr));
  CHURN_CHECK(cuStreamEndCapture(stream, &graph));
  return graph;
}

__attribute__((noinline)) inline void replay(CUgraphExec exec, CUstream stream) {
  CHURN_CHECK(cuGraphLaunch(exec, stream));
  asm volatile("");
}

struct Count {
  std::map<std::string, long> kernels;
  long captured = 0;
  long launches = 0;
};

inline void eager(const std::string& name, const Loaded& kernel, CUstream stream, Count& count) {
  launch_eager(kernel.function, stream);
  ++count.launches;
  ++count.kernels[name];
}

inline void captured(const std::string& name, const Loaded& kernel, CUstream stream, Count& count) {
  CUgraph graph = capture_kernel(kernel.function, stream);
  CUgraphExec exec = nullptr;
  CHURN_CHECK(cuGraphInstantiateWithFlags(&exec, graph, 0));
  replay(exec, stream);
  replay(exec, stream);
  CHURN_CHECK(cuStreamSynchronize(stream));
  CHURN_CHECK(cuGraphExecDestroy(exec));
  CHURN_CHECK(cuGraphDestroy(graph));
  count.captured += 1;
  count.launches += 3;
  count.kernels[name] += 2;
}

// Instantiates a graph with one node. Then makes the node run `other`: first by new parameters, later by a graph
// update.
inline void updated(const std::string& name, const Loaded& kernel, const std::string& other_name, const Loaded& other,
                    CUstream stream, Count& count) {
  CUgraph graph = nullptr;
  CUgraph other_graph = nullptr;
  CUgraphNode node = nullptr;
  CUgraphNode other_node = nullptr;
  CUgraphExec exec = nullptr;
  const CUDA_KERNEL_NODE_PARAMS params = node_of(kernel.function);
  const CUDA_KERNEL_NODE_PARAMS other_params = node_of(other.function);
  CHURN_CHECK(cuGraphCreate(&graph, 0));
  CHURN_CHECK(cuGraphCreate(&other_graph, 0));
  CHURN_CHECK(cuGraphAddKernelNode(&node, graph, nullptr, 0, &params));
  CHURN_CHECK(cuGraphAddKernelNode(&other_node, other_graph, nullptr, 0, &other_params));
  CHURN_CHECK(cuGraphInstantiateWithFlags(&exec, graph, 0));
  replay(exec, stream);
  CHURN_CHECK(cuGraphExecKernelNodeSetParams(exec, node, &other_params));
  replay(exec, stream);
  CHURN_CHECK(cuStreamSynchronize(stream));
  CHURN_CHECK(cuGraphExecDestroy(exec));
  CHURN_CHECK(cuGraphInstantiateWithFlags(&exec, graph, 0));
  CUgraphExecUpdateResultInfo info = {};
  CHURN_CHECK(cuGraphExecUpdate(exec, other_graph, &info));
  replay(exec, stream);
  CHURN_CHECK(cuStreamSynchronize(stream));
  CHURN_CHECK(cuGraphExecDestroy(exec));
  CHURN_CHECK(cuGraphDestroy(graph));
  CHURN_CHECK(cuGraphDestroy(other_graph));
  count.launches += 3;
  count.kernels[name] += 1;
  count.kernels[other_name] += 2;
}

// `image_of` takes the name of a kernel and returns the image of a module that contains this kernel.
template <typename ImageOf>
void run(long rounds, CUstream stream, const ImageOf& image_of) {
  Count count;
  for (long i = 0; i < rounds * kNames; ++i) {
    const std::string name = name_of(i);
    const bool as_library = i / kNames % 2 == 1;
    {
      const Loaded kernel(image_of(name), name, as_library);
      eager(name, kernel, stream, count);
      CHURN_CHECK(cuStreamSynchronize(stream));
    }
    {
      const Loaded kernel(image_of(name), name, as_library);
      captured(name, kernel, stream, count);
    }
    const std::string other_name = name_of(i + 7);
    const Loaded kernel(image_of(name), name, false);
    const Loaded other(image_of(other_name), other_name, false);
    updated(name, kernel, other_name, other, stream, count);
  }
  long records = 0;
  for (const auto& [name, launches] : count.kernels) {
    expect(("kernel." + name).c_str(), launches);
    records += launches;
  }
  expect("records", records);
  expect("launches", count.launches);
  expect("captured_launches", count.captured);
  expect("site.launch_eager", rounds * kNames);
  expect("site.replay", records - rounds * kNames);
}

}  // namespace churn
