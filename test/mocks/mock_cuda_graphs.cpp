// The mock libcuda's graphs: captured or built node by node, cloned, instantiated, updated, launched.
#include <algorithm>

#include "mock_driver.h"

using namespace gpuprof::mock;

namespace {

void tell(NodeEvent event, CUgraphNode node, CUgraphNode original) {
  if (const Tracer* tracer = driver().tracer; tracer != nullptr) {
    tracer->node(event, node, original);
  }
}

uint64_t next_node_id() {
  const std::lock_guard lock(driver().mutex);
  return ++driver().last_node;
}

std::unique_ptr<CUgraphNode_st> clone(CUgraphNode original) {
  auto copy = std::make_unique<CUgraphNode_st>(*original);
  copy->id = next_node_id();
  tell(NodeEvent::created, copy.get(), nullptr);
  tell(NodeEvent::cloned, copy.get(), original);
  return copy;
}

template <typename Graph>
void destroy(Graph* graph) {
  for (const auto& node : graph->nodes) {
    tell(NodeEvent::destroyed, node.get(), nullptr);
  }
  delete graph;
}

CUresult launch(const CUgraphExec_st& exec, CUstream_st* stream) {
  Op whole = {};
  for (const auto& node : exec.nodes) {
    Op op = node->op;
    op.name = node->name.c_str();
    op.graph_node = node->id;
    op = run(stream, node->kind, node->ns, op);
    const uint64_t begin = whole.start_ns == 0 ? op.start_ns : whole.start_ns;
    whole = op;
    whole.start_ns = begin;
  }
  whole.kind = OpKind::graph;
  whole.name = nullptr;
  whole.bytes = 0;
  whole.graph_node = 0;
  if (const Tracer* tracer = driver().tracer; tracer != nullptr && !exec.nodes.empty()) {
    tracer->op(whole);
  }
  return CUDA_SUCCESS;
}

CUresult update(CUgraphExec_st& exec, const CUgraph_st& graph) {
  if (exec.nodes.size() != graph.nodes.size()) {
    return CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE;
  }
  for (size_t i = 0; i < exec.nodes.size(); ++i) {
    const uint64_t id = exec.nodes[i]->id;
    *exec.nodes[i] = *graph.nodes[i];
    exec.nodes[i]->id = id;
  }
  return CUDA_SUCCESS;
}

}  // namespace

CUgraphNode gpuprof::mock::add_node(CUgraph graph, OpKind kind, const char* name, uint64_t ns, const Op& op) {
  auto node = std::make_unique<CUgraphNode_st>();
  node->id = next_node_id();
  node->kind = kind;
  node->name = name == nullptr ? "" : name;
  node->ns = ns;
  node->op = op;
  CUgraphNode added = node.get();
  graph->nodes.push_back(std::move(node));
  tell(NodeEvent::created, added, nullptr);
  return added;
}

extern "C" {

uint64_t mock_cuda_node_id(CUgraphNode node) {
  return node->id;
}

CUresult cuStreamBeginCapture(CUstream stream, CUstreamCaptureMode) {
  return MOCK_CALL(cuStreamBeginCapture_v2, nullptr, [&] {
    if (stream == nullptr || stream->capturing != nullptr) {
      return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
    }
    stream->capturing = new CUgraph_st;
    return CUDA_SUCCESS;
  });
}

CUresult cuStreamEndCapture(CUstream stream, CUgraph* graph) {
  return MOCK_CALL(cuStreamEndCapture, nullptr, [&] {
    if (stream == nullptr || stream->capturing == nullptr) {
      return CUDA_ERROR_ILLEGAL_STATE;
    }
    *graph = stream->capturing;
    stream->capturing = nullptr;
    return CUDA_SUCCESS;
  });
}

CUresult cuGraphCreate(CUgraph* graph, unsigned int) {
  return MOCK_CALL(cuGraphCreate, nullptr, [&] {
    *graph = new CUgraph_st;
    return CUDA_SUCCESS;
  });
}

CUresult cuGraphAddKernelNode(CUgraphNode* node, CUgraph graph, const CUgraphNode*, size_t,
                              const CUDA_KERNEL_NODE_PARAMS* parameters) {
  return MOCK_CALL(cuGraphAddKernelNode_v2, nullptr, [&] {
    CUfunction function = parameters->func;
    *node = add_node(graph, OpKind::kernel, function->name.c_str(), function->ns, {});
    return CUDA_SUCCESS;
  });
}

CUresult cuGraphClone(CUgraph* copy, CUgraph original) {
  return MOCK_CALL(cuGraphClone, nullptr, [&] {
    *copy = new CUgraph_st;
    for (const auto& node : original->nodes) {
      (*copy)->nodes.push_back(clone(node.get()));
    }
    return CUDA_SUCCESS;
  });
}

CUresult cuGraphInstantiateWithFlags(CUgraphExec* exec, CUgraph graph, unsigned long long) {
  return MOCK_CALL(cuGraphInstantiateWithFlags, nullptr, [&] {
    *exec = new CUgraphExec_st;
    for (const auto& node : graph->nodes) {
      (*exec)->nodes.push_back(clone(node.get()));
    }
    if (!graph->nodes.empty()) {
      // As the real one does for copies; the node goes on to run with each launch.
      tell(NodeEvent::destroyed, (*exec)->nodes.front().get(), nullptr);
    }
    return CUDA_SUCCESS;
  });
}

CUresult cuGraphExecUpdate(CUgraphExec exec, CUgraph graph, CUgraphExecUpdateResultInfo*) {
  return MOCK_CALL(cuGraphExecUpdate_v2, nullptr, [&] { return update(*exec, *graph); });
}

CUresult cuGraphDestroy(CUgraph graph) {
  return MOCK_CALL(cuGraphDestroy, nullptr, [&] {
    destroy(graph);
    return CUDA_SUCCESS;
  });
}

CUresult cuGraphExecDestroy(CUgraphExec exec) {
  return MOCK_CALL(cuGraphExecDestroy, nullptr, [&] {
    destroy(exec);
    return CUDA_SUCCESS;
  });
}

CUresult cuGraphLaunch(CUgraphExec exec, CUstream stream) {
  return MOCK_CALL(cuGraphLaunch, nullptr, [&] {
    CUstream_st* on = stream_of(stream);
    return on == nullptr ? CUDA_ERROR_INVALID_CONTEXT : launch(*exec, on);
  });
}

}  // extern "C"
