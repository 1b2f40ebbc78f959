// Distributes events to the parts that need them: events of contexts, modules and graph nodes, and stages of a
// recording. A new part defines an EventHandlers and adds it to the table in event_handlers.cpp.
#pragma once

#include "cupti/api/cupti_api.h"

namespace gpuprof::injection::cupti {

struct OpenCall;

// Callbacks of one part. Callbacks that the part does not need are null.
struct EventHandlers {
  // Returns whether the part needs more callbacks than `begin`. Null: the part always needs all of its callbacks.
  bool (*is_on)() = nullptr;

  // Called when a recording begins, and `again` each time that it continues after CUPTI was detached. CUPTI is
  // subscribed, but records nothing yet. The part requests events with enable_resource().
  void (*begin)(bool again) = nullptr;

  // Called on the service thread: flush() when records are flushed, pause() when recording pauses or resumes, and end()
  // when it ends. `hurry` is true if the process is ending.
  void (*flush)() = nullptr;
  void (*pause)(bool paused) = nullptr;
  void (*end)(bool hurry) = nullptr;

  // The following callbacks run on the target's threads, so waits for locks must be bounded.
  void (*context_created)(CUcontext context) = nullptr;
  void (*context_ending)(CUcontext context) = nullptr;
  // The module's code is valid only during the call.
  void (*module_loaded)(const CUpti_ModuleResourceData& module) = nullptr;
  void (*module_unloading)(CUcontext context) = nullptr;
  void (*graph_node)(CUpti_CallbackIdResource event, const CUpti_GraphData& graph, OpenCall* call) = nullptr;
};

void begin_handlers(bool again);
void flush_handlers();
void pause_handlers(bool paused);
void end_handlers(bool hurry);

// Passes a callback of the resource domain to the parts. `call`: the driver or runtime call that the thread is in.
void on_resource_callback(CUpti_CallbackId id, const CUpti_ResourceData& data, OpenCall* call);

}  // namespace gpuprof::injection::cupti
