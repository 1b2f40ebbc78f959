// Nodes of CUDA graphs: when one comes to be, the stack is that of who captured or added it. And launches of graphs.
#pragma once

#include "cupti/api/cupti_api.h"
#include "cupti/calls.h"
#include "cupti/event_handlers.h"
#include "cupti/sampling/exact_ranges.h"

namespace gpuprof::injection::cupti {

// The call of interest that a thread is in.
struct OpenCall {
  bool open;
  CallKind kind;
  CUpti_CallbackDomain domain;
  CUpti_CallbackId id;
  uint32_t correlation;
  bool captured;      // a launch that turned out to become a node of a graph
  uint32_t counted;   // of a launch while what instructions do is counted: end_counted_launch()
  uint64_t start_ns;  // 0: not asked for
  ExactRange range;   // that was opened for it to be sampled
  uint32_t name;      // id of the name of the kernel that it launches, or makes a node run; 0: none, or not known
};

// The beginning of a call that is about graphs, and no launch.
void begin_graph_call(const CUpti_CallbackData& data, OpenCall* call);

// After launch(): CUPTI does not say of all work of a graph which launch it belongs to (see
// GPUPROF_RECORD_GRAPH_LAUNCH).
void tell_graph_launch(const CUpti_CallbackData& data);

// A waiting call has ended: the stream, or the device, was idle then.
void note_wait(const CUpti_CallbackData& data, CallKind kind);

extern const EventHandlers kGraphNodes;

// Switches its events.
void enable_graph_nodes(bool on);

}  // namespace gpuprof::injection::cupti
