// Records CUDA graphs: the stack at which each node was captured or added, and each launch of a graph.
#pragma once

#include "cupti/api/cupti_api.h"
#include "cupti/calls.h"
#include "cupti/event_handlers.h"
#include "cupti/sampling/exact_ranges.h"

namespace gpuprof::injection::cupti {

struct OpenCall {
  bool open;
  CallKind kind;
  CUpti_CallbackDomain domain;
  CUpti_CallbackId id;
  uint64_t correlation;  // unique_id()
  bool captured;         // true: the launch was captured as a graph node
  uint32_t counted;      // Pass it to end_counted_launch(). 0: instructions of this launch are not counted.
  uint64_t start_ns;     // start of the call; 0: not measured
  ExactRange range;
  uint32_t name;           // name id of the kernel that the call launches or sets in a node; 0: no kernel, or unknown
  uint64_t timed_from_ns;  // when the driver's own work began; 0: the call is not timed
  const void* frame;       // of the callback, to recognize calls inside this one
};

void begin_graph_call(const CUpti_CallbackData& data, OpenCall* call);

// Reports a GRAPH_LAUNCH after launch(). It is needed because some work of a graph arrives without the launch's
// correlation id.
void report_graph_launch(const CUpti_CallbackData& data);

// Notes that a call has ended that waited: at that moment, the stream or the context was idle.
void note_wait(const CUpti_CallbackData& data, CallKind kind);

extern const EventHandlers kGraphNodes;

void enable_graph_nodes(bool on);

}  // namespace gpuprof::injection::cupti
