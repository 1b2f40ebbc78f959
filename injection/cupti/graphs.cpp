#include "cupti/graphs.h"

#include <cstdint>
#include <cstring>

#include "base/atomics.h"
#include "cupti/api/call_params_abi.h"
#include "cupti/kernel_names.h"
#include "cupti/session.h"
#include "cupti/subscriber.h"
#include "runtime/launch.h"
#include "runtime/work.h"

namespace gpuprof::injection::cupti {
namespace {

constexpr CUpti_CallbackIdResource kCallbacks[] = {CUPTI_CBID_RESOURCE_GRAPHNODE_CREATED,
                                                   CUPTI_CBID_RESOURCE_GRAPHNODE_CLONED,
                                                   CUPTI_CBID_RESOURCE_GRAPHNODE_DESTROY_STARTING};
// cuGraphExecUpdate reports two events: UPDATED with the node that parameters are taken from, then SET_PARAMS with the
// node that gets them. cuGraphExec*SetParams reports only SET_PARAMS.
constexpr CUpti_CallbackIdResource kUpdateCallbacks[] = {CUPTI_CBID_RESOURCE_GRAPH_NODE_UPDATED,
                                                         CUPTI_CBID_RESOURCE_GRAPH_NODE_SET_PARAMS};

// Id of the node from which the thread's current graph update takes parameters; 0: no node.
constinit thread_local uint64_t updating_from = 0;

struct Wait {
  uint64_t correlation;  // id of the call; 0: no call has waited
  CUcontext context;
  bool all;  // true: the call waited for all streams of the context
  CUstream stream;
  bool per_thread;  // true: a null stream handle means the per-thread default stream
};

constinit thread_local Wait last_wait = {};

// Returns whether the called function is the variant for programs with a per-thread default stream.
bool is_per_thread(const CUpti_CallbackData& data) {
  return strstr(data.functionName, "_pt") != nullptr;
}

// Returns a node's id. 0: unknown.
uint64_t node_id(CUgraphNode node) {
  uint64_t id = 0;
  const auto graph_node_id = session().api.graph_node_id;
  if (node == nullptr || graph_node_id == nullptr || graph_node_id(node, &id) != CUPTI_SUCCESS) {
    return 0;
  }
  return id & (GPUPROF_CORRELATION_NODE - 1);
}

void node_created(uint64_t node, OpenCall* call) {
  gpuprof_graph_node record = {};
  record.node = node;
  record.name_id = call->open ? call->name : 0;
  if (call->open && is_launch(call->kind)) {
    record.launch = call->correlation;
    if (!call->captured) {
      call->captured = true;
      launch_captured(call->correlation);
    }
  }
  stack_here(GPUPROF_CORRELATION_NODE | node);
  graph_node(record);
}

void node_set(uint64_t node, const OpenCall& call) {
  gpuprof_graph_node record = {};
  record.node = node;
  record.flags = GPUPROF_GRAPH_NODE_UPDATED;
  if (call.open && call.kind == CallKind::updates_graph) {
    record.original = updating_from == node ? 0 : updating_from;
    updating_from = 0;
  } else {
    record.name_id = call.open ? call.name : 0;
  }
  graph_node(record);
}

// Returns the function in a node's parameters. `params` is the program's pointer, which may be null.
CUfunction kernel_of(CallKind kind, const char* function, const void* params) {
  const bool first_version = strstr(function, "_v2") == nullptr;
  const CUgraphNodeParams* node = nullptr;
  const CUDA_KERNEL_NODE_PARAMS_v2* kernel = nullptr;  // CUDA_KERNEL_NODE_PARAMS_v2 begins with the fields of version 1
  switch (kind) {
    case CallKind::adds_kernel_node:
      kernel = static_cast<const cuGraphAddKernelNode_v2_params*>(params)->nodeParams;
      break;
    case CallKind::sets_kernel_node:
      kernel = static_cast<const cuGraphKernelNodeSetParams_v2_params*>(params)->nodeParams;
      break;
    case CallKind::sets_exec_kernel_node:
      kernel = static_cast<const cuGraphExecKernelNodeSetParams_v2_params*>(params)->nodeParams;
      break;
    case CallKind::adds_node:
      node = first_version ? static_cast<const cuGraphAddNode_params*>(params)->nodeParams
                           : static_cast<const cuGraphAddNode_v2_params*>(params)->nodeParams;
      break;
    case CallKind::sets_node:
      node = static_cast<const cuGraphNodeSetParams_params*>(params)->nodeParams;
      break;
    case CallKind::sets_exec_node:
      node = static_cast<const cuGraphExecNodeSetParams_params*>(params)->nodeParams;
      break;
    default:
      break;
  }
  if (kernel != nullptr) {
    return kernel->func != nullptr || first_version ? kernel->func : reinterpret_cast<CUfunction>(kernel->kern);
  }
  if (node != nullptr && node->type == CU_GRAPH_NODE_TYPE_KERNEL) {
    return node->kernel.func != nullptr ? node->kernel.func : reinterpret_cast<CUfunction>(node->kernel.kern);
  }
  return nullptr;
}

void on_graph_node(CUpti_CallbackIdResource event, const CUpti_GraphData& graph, OpenCall* call) {
  const uint64_t node = node_id(graph.node);
  if (node == 0) {
    return;
  }
  if (event == CUPTI_CBID_RESOURCE_GRAPH_NODE_UPDATED) {
    updating_from = node;
    return;
  }
  if (event == CUPTI_CBID_RESOURCE_GRAPH_NODE_SET_PARAMS) {
    node_set(node, *call);
    return;
  }
  // CUPTI reports each node of a copied graph first as created, then as cloned. In between it may report the node as
  // destroyed, although it exists and runs at each launch (seen for memcpy nodes).
  const bool copying = call->open && call->kind == CallKind::copies_graph;
  if (copying && event != CUPTI_CBID_RESOURCE_GRAPHNODE_CLONED) {
    return;
  }
  if (event == CUPTI_CBID_RESOURCE_GRAPHNODE_CREATED) {
    node_created(node, call);
    return;
  }
  gpuprof_graph_node record = {};
  record.node = node;
  if (event == CUPTI_CBID_RESOURCE_GRAPHNODE_CLONED) {
    record.original = node_id(graph.originalNode);
  } else {
    record.flags = GPUPROF_GRAPH_NODE_DESTROYED;
  }
  graph_node(record);
}

}  // namespace

void begin_graph_call(const CUpti_CallbackData& data, OpenCall* call) {
  updating_from = 0;
  if (call->kind == CallKind::makes_condition) {
    store_relaxed(&session().conditions, 1U);
  } else if (call->domain == CUPTI_CB_DOMAIN_DRIVER_API && data.functionParams != nullptr) {
    call->name = name_of_function(kernel_of(call->kind, data.functionName, data.functionParams));
    if (call->kind == CallKind::sets_kernel_node || call->kind == CallKind::sets_node) {
      // For nodes of graphs that are not executable, CUPTI does not report SET_PARAMS. So the call's parameters are
      // read: the first one is the node.
      const uint64_t node = node_id(*static_cast<const CUgraphNode*>(data.functionParams));
      if (node != 0) {
        node_set(node, *call);
      }
    }
  }
  const bool updates = call->kind == CallKind::updates_graph || call->kind == CallKind::sets_exec_kernel_node ||
                       call->kind == CallKind::sets_exec_node;
  if (updates && session().updates_reported == 0) {
    distrust_node_names();
  }
}

void report_graph_launch(const CUpti_CallbackData& data) {
  const Api& api = session().api;
  if (load_relaxed(&session().conditions) == 0 || session().whole_graphs || api.graph_exec_id == nullptr ||
      data.functionParams == nullptr) {
    return;
  }
  const auto& params = *static_cast<const cuGraphLaunch_params*>(data.functionParams);
  gpuprof_graph_launch record = {};
  record.correlation = unique_id(data.correlationId);
  if (api.graph_exec_id(params.hGraph, &record.exec) != CUPTI_SUCCESS) {
    return;
  }
  if (api.stream_id != nullptr) {
    api.stream_id(data.context, params.hStream, is_per_thread(data) ? 1 : 0, &record.stream);
  }
  const bool same_stream = last_wait.stream == params.hStream && last_wait.per_thread == is_per_thread(data);
  if (last_wait.correlation != 0 && last_wait.context == data.context && (last_wait.all || same_stream)) {
    record.finished = last_wait.correlation;
  }
  graph_launch(record);
}

void note_wait(const CUpti_CallbackData& data, CallKind kind) {
  const bool names_context = strstr(data.functionName, "cuCtxSynchronize_v2") != nullptr;
  if (kind == CallKind::sync_all && !names_context) {
    last_wait = {unique_id(data.correlationId), data.context, true, nullptr, false};
  } else if (kind == CallKind::sync_stream && data.functionParams != nullptr) {
    const auto& params = *static_cast<const cuStreamSynchronize_params*>(data.functionParams);
    last_wait = {unique_id(data.correlationId), data.context, false, params.hStream, is_per_thread(data)};
  }
}

void enable_graph_nodes(bool on) {
  if (session().api.graph_node_id == nullptr) {
    return;
  }
  for (const CUpti_CallbackIdResource event : kCallbacks) {
    enable_resource(event, on);
  }
  bool updates = true;
  for (const CUpti_CallbackIdResource event : kUpdateCallbacks) {
    updates = enable_resource(event, on) && updates;
  }
  session().updates_reported = updates ? 1 : 0;
}

constexpr EventHandlers kGraphNodes = {.graph_node = on_graph_node};

}  // namespace gpuprof::injection::cupti
