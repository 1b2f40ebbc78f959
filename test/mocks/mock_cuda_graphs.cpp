// The mock libcuda's graphs: captured or built node by node, cloned, instantiated, updated and launched. The bodies of
// a conditional node run as often as its condition says.
#include <algorithm>
#include <atomic>

#include "mock_driver.h"

using namespace gpuprof::mock;

namespace {

std::atomic<uint32_t> captures = 0;

void tell(NodeEvent event, CUgraphNode node, CUgraphNode original = nullptr) {
  if (const Tracer* tracer = driver().tracer; tracer != nullptr) {
    tracer->node(event, node, original);
  }
}

uint32_t next_graph_id() {
  const std::lock_guard lock(driver().mutex);
  return ++driver().last_graph;
}

Op op_of(const CUfunc_st& function) {
  Op op = {};
  op.module = function.module->id;
  return op;
}

CUgraph make_graph() {
  return new CUgraph_st{next_graph_id(), 0, {}};
}

uint64_t next_node_id(CUgraph_st& graph) {
  const std::lock_guard lock(driver().mutex);
  return uint64_t{graph.id} << 32 | graph.made++;
}

std::unique_ptr<CUgraphNode_st> copy_of(CUgraphNode original, CUgraph_st& into) {
  auto copy = std::make_unique<CUgraphNode_st>(*original);
  copy->original = original->id;
  copy->id = next_node_id(into);
  return copy;
}

std::unique_ptr<CUgraphNode_st> clone(CUgraphNode original, CUgraph_st& into) {
  auto copy = copy_of(original, into);
  tell(NodeEvent::created, copy.get());
  tell(NodeEvent::cloned, copy.get(), original);
  return copy;
}

// Copies the bodies of a conditional node twice: into a graph that tools get callbacks for, and into the executable
// graph, with node ids that are not reported to tools.
void flatten(CUgraphNode_st& node, CUgraph_st& exec) {
  for (CUgraph& body : node.bodies) {
    CUgraph copy = make_graph();
    auto* flat = new CUgraph_st{exec.id, 0, {}};
    for (const auto& inner : body->nodes) {
      copy->nodes.push_back(clone(inner.get(), *copy));
      flat->nodes.push_back(copy_of(inner.get(), exec));
      flatten(*flat->nodes.back(), exec);
    }
    body = flat;
    delete copy;
  }
}

template <typename Graph>
void destroy(Graph* graph) {
  for (const auto& node : graph->nodes) {
    tell(NodeEvent::destroyed, node.get());
  }
  delete graph;
}

void run_node(const CUgraphNode_st& node, uint32_t exec, bool of_body, CUstream_st* stream, Op* whole);

void run_bodies(const CUgraphNode_st& node, uint32_t exec, CUstream_st* stream, Op* whole) {
  unsigned int value = 0;
  {
    const std::lock_guard lock(driver().mutex);
    value = driver().conditions[node.handle];
  }
  size_t body = 0;
  unsigned int rounds = 1;
  if (node.condition == CU_GRAPH_COND_TYPE_WHILE) {
    rounds = value;
  } else if (node.condition == CU_GRAPH_COND_TYPE_IF) {
    body = value != 0 ? 0 : 1;
  } else {
    body = value;
  }
  for (unsigned int i = 0; i < rounds && body < node.bodies.size(); ++i) {
    for (const auto& inner : node.bodies[body]->nodes) {
      run_node(*inner, exec, true, stream, whole);
    }
  }
}

void run_node(const CUgraphNode_st& node, uint32_t exec, bool of_body, CUstream_st* stream, Op* whole) {
  if (!node.bodies.empty()) {
    run_bodies(node, exec, stream, whole);
    return;
  }
  Op op = node.op;
  op.name = node.name;
  op.graph_node = node.id;
  op.graph = exec;
  op.of_body = of_body;
  op = run(stream, node.kind, node.ns, op);
  const uint64_t begin = whole->start_ns == 0 ? op.start_ns : whole->start_ns;
  *whole = op;
  whole->start_ns = begin;
}

CUresult launch(const CUgraphExec_st& exec, CUstream_st* stream) {
  Op whole = {};
  for (const auto& node : exec.nodes) {
    run_node(*node, exec.id, false, stream, &whole);
  }
  whole.kind = OpKind::graph;
  whole.name = nullptr;
  whole.bytes = 0;
  whole.graph_node = 0;
  whole.correlation = current_correlation();
  if (const Tracer* tracer = driver().tracer; tracer != nullptr && whole.start_ns != 0) {
    tracer->op(whole);
  }
  return CUDA_SUCCESS;
}

void set_params(CUgraphNode_st& node, const CUgraphNode_st& from) {
  node.kind = from.kind;
  node.name = from.name;
  node.ns = from.ns;
  node.op = from.op;
  tell(NodeEvent::params_set, &node);
}

CUresult update(CUgraphExec_st& exec, const CUgraph_st& graph) {
  if (exec.nodes.size() != graph.nodes.size()) {
    return CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE;
  }
  for (size_t i = 0; i < exec.nodes.size(); ++i) {
    tell(NodeEvent::read, graph.nodes[i].get());
    set_params(*exec.nodes[i], *graph.nodes[i]);
  }
  return CUDA_SUCCESS;
}

CUresult add_conditional(CUgraphNode* node, CUgraph graph, CUgraphNodeParams* params) {
  auto& conditional = params->conditional;
  for (unsigned int i = 0; i < conditional.size; ++i) {
    if (i == 0) {
      conditional.phGraph_out = new CUgraph[conditional.size];
    }
    conditional.phGraph_out[i] = make_graph();
  }
  *node = add_node(graph, OpKind::kernel, nullptr, 0, {});
  (*node)->condition = conditional.type;
  (*node)->handle = conditional.handle;
  (*node)->bodies.assign(conditional.phGraph_out, conditional.phGraph_out + conditional.size);
  return CUDA_SUCCESS;
}

}  // namespace

CUgraphNode gpuprof::mock::add_node(CUgraph graph, OpKind kind, const char* name, uint64_t ns, const Op& op) {
  auto node = std::make_unique<CUgraphNode_st>();
  node->id = next_node_id(*graph);
  node->kind = kind;
  node->name = name;
  node->ns = ns;
  node->op = op;
  CUgraphNode added = node.get();
  graph->nodes.push_back(std::move(node));
  tell(NodeEvent::created, added);
  return added;
}

extern "C" {

uint64_t mock_cuda_node_id(CUgraphNode node) {
  return node->id;
}

uint32_t mock_cuda_exec_id(CUgraphExec exec) {
  return exec->id;
}

void mock_cuda_set_condition(CUgraphConditionalHandle handle, unsigned int value) {
  const std::lock_guard lock(driver().mutex);
  driver().conditions[handle] = value;
}

uint32_t mock_cuda_captures() {
  return captures.load();
}

CUresult cuStreamBeginCapture(CUstream stream, CUstreamCaptureMode) {
  return MOCK_CALL(cuStreamBeginCapture_v2, nullptr, [&] {
    if (stream == nullptr || stream->capturing != nullptr) {
      return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
    }
    stream->capturing = make_graph();
    ++captures;
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
    --captures;
    return CUDA_SUCCESS;
  });
}

CUresult cuGraphCreate(CUgraph* graph, unsigned int) {
  return MOCK_CALL(cuGraphCreate, nullptr, [&] {
    *graph = make_graph();
    return CUDA_SUCCESS;
  });
}

CUresult cuGraphAddKernelNode(CUgraphNode* node, CUgraph graph, const CUgraphNode* dependencies, size_t count,
                              const CUDA_KERNEL_NODE_PARAMS* parameters) {
  const cuGraphAddKernelNode_v2_params params = {node, graph, dependencies, count, parameters};
  return MOCK_CALL_WITH(cuGraphAddKernelNode_v2, &params, [&] {
    CUfunction function = parameters->func;
    *node = add_node(graph, OpKind::kernel, function->name, function->ns, op_of(*function));
    return CUDA_SUCCESS;
  });
}

CUresult cuGraphConditionalHandleCreate(CUgraphConditionalHandle* handle, CUgraph, CUcontext, unsigned int value,
                                        unsigned int) {
  return MOCK_CALL(cuGraphConditionalHandleCreate, nullptr, [&] {
    const std::lock_guard lock(driver().mutex);
    *handle = driver().conditions.size() + 1;
    driver().conditions[*handle] = value;
    return CUDA_SUCCESS;
  });
}

CUresult cuGraphAddNode(CUgraphNode* node, CUgraph graph, const CUgraphNode* dependencies, const CUgraphEdgeData* edges,
                        size_t count, CUgraphNodeParams* parameters) {
  const cuGraphAddNode_v2_params params = {node, graph, dependencies, edges, count, parameters};
  return MOCK_CALL_WITH(cuGraphAddNode_v2, &params, [&] {
    if (parameters->type == CU_GRAPH_NODE_TYPE_CONDITIONAL) {
      return add_conditional(node, graph, parameters);
    }
    if (parameters->type != CU_GRAPH_NODE_TYPE_KERNEL) {
      return CUDA_ERROR_NOT_SUPPORTED;
    }
    CUfunction function = parameters->kernel.func;
    *node = add_node(graph, OpKind::kernel, function->name, function->ns, op_of(*function));
    return CUDA_SUCCESS;
  });
}

CUresult cuGraphClone(CUgraph* copy, CUgraph original) {
  return MOCK_CALL(cuGraphClone, nullptr, [&] {
    *copy = make_graph();
    for (const auto& node : original->nodes) {
      (*copy)->nodes.push_back(clone(node.get(), **copy));
    }
    return CUDA_SUCCESS;
  });
}

CUresult cuGraphInstantiateWithFlags(CUgraphExec* exec, CUgraph graph, unsigned long long) {
  return MOCK_CALL(cuGraphInstantiateWithFlags, nullptr, [&] {
    *exec = new CUgraphExec_st;
    (*exec)->id = next_graph_id();
    for (const auto& node : graph->nodes) {
      (*exec)->nodes.push_back(clone(node.get(), **exec));
    }
    for (const auto& node : (*exec)->nodes) {
      flatten(*node, **exec);
    }
    if (!graph->nodes.empty()) {
      // Like the real driver, reports the first node as destroyed, although each launch runs this node.
      tell(NodeEvent::destroyed, (*exec)->nodes.front().get());
    }
    return CUDA_SUCCESS;
  });
}

CUresult cuGraphExecUpdate(CUgraphExec exec, CUgraph graph, CUgraphExecUpdateResultInfo*) {
  return MOCK_CALL(cuGraphExecUpdate_v2, nullptr, [&] { return update(*exec, *graph); });
}

CUresult cuGraphExecKernelNodeSetParams(CUgraphExec exec, CUgraphNode original,
                                        const CUDA_KERNEL_NODE_PARAMS* parameters) {
  const cuGraphExecKernelNodeSetParams_v2_params params = {exec, original, parameters};
  return MOCK_CALL_WITH(cuGraphExecKernelNodeSetParams_v2, &params, [&] {
    const auto node = std::find_if(exec->nodes.begin(), exec->nodes.end(),
                                   [&](const auto& each) { return each->original == original->id; });
    if (node == exec->nodes.end()) {
      return CUDA_ERROR_INVALID_VALUE;
    }
    CUgraphNode_st from = *original;
    from.name = parameters->func->name;
    from.ns = parameters->func->ns;
    from.op = op_of(*parameters->func);
    set_params(**node, from);
    return CUDA_SUCCESS;
  });
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
  const cuGraphLaunch_params params = {exec, stream};
  return MOCK_CALL_WITH(cuGraphLaunch, &params, [&] {
    CUstream_st* on = stream_of(stream);
    return on == nullptr ? CUDA_ERROR_INVALID_CONTEXT : launch(*exec, on);
  });
}

}  // extern "C"
