// CUDA graphs with a known result. capture_nodes() captures N kernels on the main thread. add_nodes() adds K kernels
// and a fill by hand. A clone of the graph is instantiated twice. From another thread, replay_first() and
// replay_second() each launch one instance M times. Then the first instance is updated with a graph from
// capture_again(), and replay_updated() launches it M times. --child 1 adds a child graph.
//
//   example_cuda_graphs [--nodes N] [--added K] [--replays M] [--child 0|1] [--wait-ms T]
//
// Before the replay, the program prints "replaying" and waits T milliseconds, so that a profiler can attach late.
#include <chrono>
#include <thread>
#include <vector>

#include "expect.h"
#include "setup.h"

__global__ void captured(float* data) {
  data[threadIdx.x] += 1.0f;
}

__global__ void added(float* data) {
  data[threadIdx.x] *= 2.0f;
}

__global__ void updated(float* data) {
  data[threadIdx.x] -= 1.0f;
}

__global__ void inner(float* data) {
  data[threadIdx.x] += 0.5f;
}

namespace {

constexpr int kThreads = 32;
constexpr size_t kBytes = kThreads * sizeof(float);

__attribute__((noinline)) cudaGraph_t capture_nodes(cudaStream_t stream, float* data, long nodes) {
  cudaGraph_t graph = nullptr;
  check(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal), "cudaStreamBeginCapture");
  for (long i = 0; i < nodes; ++i) {
    captured<<<1, kThreads, 0, stream>>>(data);
  }
  check(cudaStreamEndCapture(stream, &graph), "cudaStreamEndCapture");
  return graph;
}

// Captures a graph of the same shape with another kernel. cudaGraphExecUpdate requires the same shape.
__attribute__((noinline)) cudaGraph_t capture_again(cudaStream_t stream, float* data, long nodes) {
  cudaGraph_t graph = nullptr;
  check(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal), "cudaStreamBeginCapture");
  for (long i = 0; i < nodes; ++i) {
    updated<<<1, kThreads, 0, stream>>>(data);
  }
  check(cudaStreamEndCapture(stream, &graph), "cudaStreamEndCapture");
  return graph;
}

__attribute__((noinline)) void add_nodes(cudaGraph_t graph, float* data, long nodes) {
  void* arguments[] = {&data};
  cudaKernelNodeParams kernel = {};
  kernel.func = reinterpret_cast<void*>(added);
  kernel.gridDim = dim3(1);
  kernel.blockDim = dim3(kThreads);
  kernel.kernelParams = arguments;
  for (long i = 0; i < nodes; ++i) {
    cudaGraphNode_t node = nullptr;
    check(cudaGraphAddKernelNode(&node, graph, nullptr, 0, &kernel), "cudaGraphAddKernelNode");
  }
  cudaMemsetParams fill = {};
  fill.dst = data + kThreads;
  fill.elementSize = 1;
  fill.width = kBytes;
  fill.height = 1;
  cudaGraphNode_t node = nullptr;
  check(cudaGraphAddMemsetNode(&node, graph, nullptr, 0, &fill), "cudaGraphAddMemsetNode");
}

__attribute__((noinline)) void add_child(cudaGraph_t graph, float* data) {
  void* arguments[] = {&data};
  cudaKernelNodeParams kernel = {};
  kernel.func = reinterpret_cast<void*>(inner);
  kernel.gridDim = dim3(1);
  kernel.blockDim = dim3(kThreads);
  kernel.kernelParams = arguments;
  cudaGraph_t child = nullptr;
  cudaGraphNode_t node = nullptr;
  check(cudaGraphCreate(&child, 0), "cudaGraphCreate");
  check(cudaGraphAddKernelNode(&node, child, nullptr, 0, &kernel), "cudaGraphAddKernelNode");
  check(cudaGraphAddChildGraphNode(&node, graph, nullptr, 0, child), "cudaGraphAddChildGraphNode");
  check(cudaGraphDestroy(child), "cudaGraphDestroy");
}

__attribute__((noinline)) void replay_first(cudaGraphExec_t exec, cudaStream_t stream, long replays) {
  for (long i = 0; i < replays; ++i) {
    check(cudaGraphLaunch(exec, stream), "cudaGraphLaunch");
  }
}

__attribute__((noinline)) void replay_second(cudaGraphExec_t exec, cudaStream_t stream, long replays) {
  for (long i = 0; i < replays; ++i) {
    check(cudaGraphLaunch(exec, stream), "cudaGraphLaunch");
  }
  check(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
}

__attribute__((noinline)) void replay_updated(cudaGraphExec_t exec, cudaStream_t stream, long replays) {
  for (long i = 0; i < replays; ++i) {
    check(cudaGraphLaunch(exec, stream), "cudaGraphLaunch");
  }
  check(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
}

long number(int argc, char** argv, const std::string& name, long otherwise) {
  for (int i = 1; i + 1 < argc; ++i) {
    if (argv[i] == name) {
      return std::strtol(argv[i + 1], nullptr, 10);
    }
  }
  return otherwise;
}

cudaGraph_t with_additions(cudaGraph_t graph, float* data, long added_nodes, bool child) {
  add_nodes(graph, data, added_nodes);
  if (child) {
    add_child(graph, data);
  }
  return graph;
}

}  // namespace

int main(int argc, char** argv) {
  const long nodes = option(argc, argv, "--nodes", 10);
  const long added_nodes = option(argc, argv, "--added", 3);
  const long replays = option(argc, argv, "--replays", 100);
  const bool child = number(argc, argv, "--child", 0) != 0;
  const long wait_ms = number(argc, argv, "--wait-ms", 0);

  float* data = nullptr;
  cudaStream_t stream = nullptr;
  check(cudaMalloc(&data, 2 * kBytes), "cudaMalloc");
  check(cudaStreamCreate(&stream), "cudaStreamCreate");

  cudaGraph_t graph = with_additions(capture_nodes(stream, data, nodes), data, added_nodes, child);
  cudaGraph_t clone = nullptr;
  cudaGraphExec_t first = nullptr;
  cudaGraphExec_t second = nullptr;
  check(cudaGraphClone(&clone, graph), "cudaGraphClone");
  check(cudaGraphInstantiate(&first, clone, 0), "cudaGraphInstantiate");
  check(cudaGraphInstantiate(&second, clone, 0), "cudaGraphInstantiate");
  check(cudaGraphDestroy(graph), "cudaGraphDestroy");

  std::printf("replaying\n");
  std::fflush(stdout);
  std::this_thread::sleep_for(std::chrono::milliseconds(wait_ms));

  std::thread([=] {
    replay_first(first, stream, replays);
    replay_second(second, stream, replays);
  }).join();

  cudaGraph_t other = with_additions(capture_again(stream, data, nodes), data, added_nodes, child);
  cudaGraphExecUpdateResultInfo info = {};
  check(cudaGraphExecUpdate(first, other, &info), "cudaGraphExecUpdate");
  std::thread([=] { replay_updated(first, stream, replays); }).join();

  expect("captured_launches", 2 * nodes);
  expect("graph_launches", 3 * replays);
  expect("launches", 2 * nodes + 3 * replays);
  expect("records", 3 * replays * (nodes + added_nodes + 1 + (child ? 1 : 0)));
  expect("kernel.captured", 2 * replays * nodes);
  expect("kernel.updated", replays * nodes);
  expect("kernel.added", 3 * replays * added_nodes);
  expect("kernel.inner", child ? 3 * replays : 0);
  expect("op.fill", 3 * replays);
  expect("site.replay_first", replays * (nodes + added_nodes + 1 + (child ? 1 : 0)));
  expect("site.replay_second", replays * (nodes + added_nodes + 1 + (child ? 1 : 0)));
  expect("site.replay_updated", replays * (nodes + added_nodes + 1 + (child ? 1 : 0)));
  check(cudaFree(data), "cudaFree");
  return 0;
}
