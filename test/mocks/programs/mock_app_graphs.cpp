#include <pthread.h>
#include <unistd.h>

#include <thread>

#include "mock_app.h"
#include "mock_cudart.h"

namespace gpuprof::mock_app {
namespace {

__attribute__((noinline)) void replay(Worker& worker, CUgraphExec exec) {
  CHECK(worker.options.driver_api ? cuGraphLaunch(exec, worker.stream)
                                  : mock::runtime_graph_launch(exec, worker.stream));
  ++worker.totals.launches;
}

CUgraphExec make_graph(const Worker& worker) {
  CUgraph graph = nullptr;
  CUgraphExec exec = nullptr;
  CHECK(cuGraphCreate(&graph, 0));
  for (CUfunction function : {worker.cheap, worker.dear}) {
    CUgraphNode node = nullptr;
    CUDA_KERNEL_NODE_PARAMS parameters = {};
    parameters.func = function;
    CHECK(cuGraphAddKernelNode(&node, graph, nullptr, 0, &parameters));
  }
  CHECK(cuGraphInstantiateWithFlags(&exec, graph, 0));
  return exec;
}

// Captures launches from two call sites alternately. The captured launches become graph nodes.
struct Capture {
  Worker& worker;
  CUstream stream;

  void launch(CUfunction function) {
    CHECK(worker.options.driver_api ? cuLaunchKernel(function, 1, 1, 1, 32, 1, 1, 0, stream, nullptr, nullptr)
                                    : mock::runtime_launch(function, stream));
    ++worker.totals.launches;
    ++worker.totals.captured;
  }
};

__attribute__((noinline)) void capture_attention(Capture& capture, bool swapped) {
  capture.launch(swapped ? capture.worker.dear : capture.worker.cheap);
}

__attribute__((noinline)) void capture_mlp(Capture& capture, bool swapped) {
  capture.launch(swapped ? capture.worker.cheap : capture.worker.dear);
}

__attribute__((noinline)) CUgraph capture_nodes(Worker& worker, bool swapped) {
  CUgraph graph = nullptr;
  Capture capture = {worker, nullptr};
  CHECK(cuStreamCreate(&capture.stream, 0));
  CHECK(cuStreamBeginCapture(capture.stream, CU_STREAM_CAPTURE_MODE_RELAXED));
  for (int i = 0; i < worker.options.graph_nodes; ++i) {
    i % 2 == 0 ? capture_attention(capture, swapped) : capture_mlp(capture, swapped);
  }
  CHECK(cuStreamEndCapture(capture.stream, &graph));
  return graph;
}

CUgraph capture_somewhere(Worker& worker, bool swapped) {
  if (!worker.options.capture_thread) {
    return capture_nodes(worker, swapped);
  }
  CUgraph graph = nullptr;
  std::thread([&] {
    pthread_setname_np(pthread_self(), "capture");
    CHECK(cuCtxSetCurrent(worker.context));
    graph = capture_nodes(worker, swapped);
  }).join();
  return graph;
}

void count_nodes(Worker& worker, bool swapped) {
  for (int i = 0; i < worker.options.graph_nodes; ++i) {
    const bool cheap = (i % 2 == 0) != swapped;
    worker.totals.add(cheap ? kCheap : kDear, cheap ? kCheapNs : kDearNs, 0);
  }
}

}  // namespace

void simple_graph(Worker& worker) {
  CUgraphExec exec = make_graph(worker);
  for (int i = 0; i < worker.options.graph_launches; ++i) {
    replay(worker, exec);
    worker.totals.add(kCheap, kCheapNs, 0);
    worker.totals.add(kDear, kDearNs, 0);
  }
}

void captured_graph(Worker& worker) {
  CUgraph graph = capture_somewhere(worker, false);
  if (worker.options.clone_graph) {
    CUgraph original = graph;
    CHECK(cuGraphClone(&graph, original));
    CHECK(cuGraphDestroy(original));
  }
  std::vector<CUgraphExec> instances(static_cast<size_t>(worker.options.graph_instances));
  for (CUgraphExec& exec : instances) {
    CHECK(cuGraphInstantiateWithFlags(&exec, graph, 0));
  }
  if (worker.options.update_graph) {
    CUgraph other = capture_somewhere(worker, true);
    for (CUgraphExec exec : instances) {
      CUgraphExecUpdateResultInfo info = {};
      CHECK(cuGraphExecUpdate(exec, other, &info));
    }
    CHECK(cuGraphDestroy(other));
  }
  for (int i = 0; i < worker.options.graph_replays; ++i) {
    for (CUgraphExec exec : instances) {
      replay(worker, exec);
      if (worker.options.gap_us > 0) {
        usleep(static_cast<useconds_t>(worker.options.gap_us));
      }
      count_nodes(worker, worker.options.update_graph);
    }
  }
  worker.synchronize();
  for (CUgraphExec exec : instances) {
    CHECK(cuGraphExecDestroy(exec));  // records of the graph may not have been written yet
  }
  CHECK(cuGraphDestroy(graph));
}

}  // namespace gpuprof::mock_app
