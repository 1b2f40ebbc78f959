// Classifies the driver's and runtime's functions by name: callback ids differ between CUPTI versions.
#pragma once

#include <cstdint>

#include "cupti/api/cupti_api.h"

namespace gpuprof::injection::cupti {

// CUPTI's callback ids are lower than this limit. The highest id grows by about 20 per release.
constexpr CUpti_CallbackId kMaxCallbackId = 2000;

enum class CallKind : uint8_t {
  other,
  launch,           // puts one copy or fill on a GPU
  launches_kernel,  // puts one kernel on a GPU
  several,          // puts any number of work items on a GPU; all have the call's correlation id
  launches_graph,   // launches an executable graph, whose work items have the call's correlation id
  sync,             // waits for an event
  sync_stream,      // waits for a stream
  sync_all,         // waits for all streams of a context
  memory,
  loads_code,    // loads or links code
  finds_code,    // may load code, because drivers load it at its first use
  starts,        // creates a context
  unloads_code,  // unloads code of one context
  drops_code,    // destroys contexts, and so unloads their code
  begins_capture,
  ends_capture,
  copies_graph,   // copies a graph; the new nodes are copies of its nodes
  updates_graph,  // copies parameters of a graph's nodes to the nodes of an executable graph
  uploads_graph,  // prepares the launch of an executable graph
  makes_condition,
  adds_kernel_node,
  adds_node,
  sets_kernel_node,
  sets_node,
  sets_exec_kernel_node,  // sets the kernel of a node in an executable graph
  sets_exec_node
};

constexpr bool is_launch(CallKind kind) {
  return kind == CallKind::launch || kind == CallKind::launches_kernel || kind == CallKind::several ||
         kind == CallKind::launches_graph;
}

constexpr bool concerns_graphs(CallKind kind) {
  return kind == CallKind::launches_graph || kind == CallKind::begins_capture || kind == CallKind::copies_graph ||
         kind == CallKind::updates_graph || kind == CallKind::uploads_graph ||
         kind == CallKind::sets_exec_kernel_node || kind == CallKind::sets_exec_node;
}

constexpr bool is_sync(CallKind kind) {
  return kind == CallKind::sync || kind == CallKind::sync_stream || kind == CallKind::sync_all;
}

// Returns whether every call is recorded with its duration. Calls of other kinds are recorded only if they last
// GPUPROF_LONG_CALL_NS.
constexpr bool is_slow(CallKind kind) {
  return kind == CallKind::memory || kind == CallKind::loads_code || kind == CallKind::starts ||
         kind == CallKind::copies_graph;
}

// Returns whether only the duration of the call is of interest.
constexpr bool is_only_timed(CallKind kind) {
  return kind == CallKind::loads_code || kind == CallKind::finds_code || kind == CallKind::starts ||
         kind == CallKind::unloads_code || kind == CallKind::drops_code || kind == CallKind::uploads_graph;
}

// Classifies a function name from cuptiGetCallbackName, of the driver (cuLaunchKernel_ptsz) or the runtime
// (cudaMemcpyAsync_v3020).
CallKind kind_of_name(const char* name);

// Returns the kind of the function with a callback id. Returns `other` before learn_calls() has run.
CallKind kind_of(CUpti_CallbackDomain domain, CUpti_CallbackId id);

// Returns whether the call is a copy or fill of 0 bytes, which puts nothing on a GPU. `params`: its arguments, or null.
bool is_empty(CUpti_CallbackDomain domain, CUpti_CallbackId id, const void* params);

// Returns whether a function of this name has SizedParams (call_params_abi.h).
bool has_size(const char* name);

// Asks CUPTI for the names of the domain's functions and classifies them. Returns the number of functions to record.
size_t learn_calls(CUpti_CallbackDomain domain);

}  // namespace gpuprof::injection::cupti
