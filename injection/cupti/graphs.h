// Nodes of CUDA graphs: when one comes to be, the stack is that of who captured or added it.
#pragma once

#include "cupti/calls.h"
#include "cupti/cupti_api.h"

namespace gpuprof::injection::cupti {

// The call of interest that a thread is in.
struct OpenCall {
  bool open;
  CallKind kind;
  CUpti_CallbackDomain domain;
  CUpti_CallbackId id;
  uint32_t correlation;
  bool captured;      // a launch that turned out to become a node of a graph
  uint64_t start_ns;  // 0: not asked for
};

// A callback of the RESOURCE domain on a thread that is in `call`.
void on_graph_callback(CUpti_CallbackId id, const CUpti_ResourceData* data, OpenCall* call);

// Switches the callbacks. False: this CUPTI does not tell of nodes.
bool enable_graph_callbacks(CUpti_SubscriberHandle subscriber, bool on);

}  // namespace gpuprof::injection::cupti
