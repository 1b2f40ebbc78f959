// Records CUDA graphs: each node with the stack of the code that captured or added it, and each launch of a graph.
#pragma once

#include "cupti/api/cupti_api.h"
#include "cupti/calls.h"
#include "cupti/event_handlers.h"
#include "cupti/sampling/exact_ranges.h"

namespace gpuprof::injection::cupti {

// The recorded call that a thread is in.
struct OpenCall {
  bool open;
  CallKind kind;
  CUpti_CallbackDomain domain;
  CUpti_CallbackId id;
  uint32_t correlation;
  bool captured;      // the call is a launch that was captured as a graph node
  uint32_t counted;   // handle for end_counted_launch() while instructions are counted; 0: not counted
  uint64_t start_ns;  // 0: not measured
  ExactRange range;   // range opened to sample this launch
  uint32_t name;      // name id of the kernel that the call launches or sets in a node; 0: no kernel, or unknown
};

// Handles the start of a graph call that is not a launch.
void begin_graph_call(const CUpti_CallbackData& data, OpenCall* call);

// Reports a GRAPH_LAUNCH after launch(), because some work of a graph arrives without the correlation id of its launch.
void report_graph_launch(const CUpti_CallbackData& data);

// Notes the end of a call that waited: the stream or the context was idle at that moment.
void note_wait(const CUpti_CallbackData& data, CallKind kind);

extern const EventHandlers kGraphNodes;

void enable_graph_nodes(bool on);

}  // namespace gpuprof::injection::cupti
