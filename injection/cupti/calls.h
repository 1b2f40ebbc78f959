// Which of the driver's and the runtime's functions are of interest, and what each of them does. By their names: the
// callback ids differ from version to version.
#pragma once

#include <cstdint>

#include "cupti/api/cupti_api.h"

namespace gpuprof::injection::cupti {

// Above the highest callback id of any CUPTI so far; it grows by some twenty a release.
constexpr CUpti_CallbackId kMaxCallbackId = 2000;

enum class CallKind : uint8_t {
  other,
  launch,           // puts one piece of work on a GPU: a copy, a fill, or ...
  launches_kernel,  // ... a kernel
  several,          // puts any number of pieces there, all with its correlation id
  launches_graph,   // the same, of an executable graph
  sync,             // waits for the GPU: for an event, ...
  sync_stream,      // ... for a stream, or ...
  sync_all,         // ... for all of a context's
  memory,           // allocates or frees
  unloads_code,     // of one context
  drops_code,       // ends contexts, with their code
  begins_capture,   // of a stream's work as a graph
  ends_capture,
  copies_graph,     // makes a graph of a graph: its nodes are copies
  updates_graph,    // gives an executable graph's nodes what another graph's nodes run
  makes_condition,  // for a conditional node
  adds_kernel_node,
  adds_node,
  sets_kernel_node,  // of a graph
  sets_node,
  sets_exec_kernel_node,  // of an executable graph
  sets_exec_node
};

constexpr bool is_launch(CallKind kind) {
  return kind == CallKind::launch || kind == CallKind::launches_kernel || kind == CallKind::several ||
         kind == CallKind::launches_graph;
}

constexpr bool is_sync(CallKind kind) {
  return kind == CallKind::sync || kind == CallKind::sync_stream || kind == CallKind::sync_all;
}

// Of a name as cuptiGetCallbackName gives it, in either domain: "cuLaunchKernel_ptsz", "cudaMemcpyAsync_v3020".
CallKind kind_of_name(const char* name);

// Of a callback id; `other` until learn_calls() has looked at it.
CallKind kind_of(CUpti_CallbackDomain domain, CUpti_CallbackId id);

// Asks CUPTI for the names of all functions of the domain. Returns how many are of interest.
size_t learn_calls(CUpti_CallbackDomain domain);

}  // namespace gpuprof::injection::cupti
