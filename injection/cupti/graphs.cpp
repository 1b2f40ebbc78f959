#include "cupti/graphs.h"

#include <cstdint>

#include "common/emit.h"
#include "cupti/session.h"

namespace gpuprof::injection::cupti {
namespace {

constexpr CUpti_CallbackIdResource kCallbacks[] = {CUPTI_CBID_RESOURCE_GRAPHNODE_CREATED,
                                                   CUPTI_CBID_RESOURCE_GRAPHNODE_CLONED,
                                                   CUPTI_CBID_RESOURCE_GRAPHNODE_DESTROY_STARTING};

// 0: not known.
uint64_t node_id(CUgraphNode node) {
  uint64_t id = 0;
  if (node == nullptr || session().api.graph_node_id(node, &id) != CUPTI_SUCCESS) {
    return 0;
  }
  return id & (GPUPROF_CORRELATION_NODE - 1);
}

void node_created(uint64_t node, OpenCall* call) {
  gpuprof_graph_node record = {};
  record.node = node;
  if (call->open && (call->kind == CallKind::launch || call->kind == CallKind::several)) {
    record.launch = call->correlation;
    if (!call->captured) {
      call->captured = true;
      launch_captured(call->correlation);
    }
  }
  stack_here(GPUPROF_CORRELATION_NODE | node);
  graph_node(record);
}

}  // namespace

void on_graph_callback(CUpti_CallbackId id, const CUpti_ResourceData* data, OpenCall* call) {
  if (id != CUPTI_CBID_RESOURCE_GRAPHNODE_CREATED && id != CUPTI_CBID_RESOURCE_GRAPHNODE_CLONED &&
      id != CUPTI_CBID_RESOURCE_GRAPHNODE_DESTROY_STARTING) {
    return;  // `data` describes something else
  }
  const Guard guard;
  if (!guard.entered() || !active()) {
    return;
  }
  const auto* graph = static_cast<const CUpti_GraphData*>(data->resourceDescriptor);
  const uint64_t node = graph == nullptr ? 0 : node_id(graph->node);
  if (node == 0) {
    return;
  }
  // A copied graph's nodes are told of as created first and then as cloned. On the way a node may also be told of as
  // destroyed (seen for memcpy nodes) that runs at each launch afterwards.
  const bool copying = call->open && call->kind == CallKind::copies_graph;
  if (copying && id != CUPTI_CBID_RESOURCE_GRAPHNODE_CLONED) {
    return;
  }
  if (id == CUPTI_CBID_RESOURCE_GRAPHNODE_CREATED) {
    node_created(node, call);
    return;
  }
  gpuprof_graph_node record = {};
  record.node = node;
  if (id == CUPTI_CBID_RESOURCE_GRAPHNODE_CLONED) {
    record.original = node_id(graph->originalNode);
  } else {
    record.flags = GPUPROF_GRAPH_NODE_DESTROYED;
  }
  graph_node(record);
}

bool enable_graph_callbacks(CUpti_SubscriberHandle subscriber, bool on) {
  const Api& api = session().api;
  if (api.graph_node_id == nullptr) {
    return false;
  }
  bool all = true;
  for (const CUpti_CallbackIdResource id : kCallbacks) {
    all = api.enable_callback(on ? 1 : 0, subscriber, CUPTI_CB_DOMAIN_RESOURCE, id) == CUPTI_SUCCESS && all;
  }
  return all;
}

}  // namespace gpuprof::injection::cupti
