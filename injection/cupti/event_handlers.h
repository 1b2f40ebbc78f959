// Who hears of the process's contexts, modules and graph nodes, and of the stages of a recording: the one list of all
// parts that do. A new part defines EventHandlers and has its line in event_handlers.cpp.
#pragma once

#include "cupti/api/cupti_api.h"

namespace gpuprof::injection::cupti {

struct OpenCall;

// What a part does not need is null.
struct EventHandlers {
  // False: nothing but `begin` is to be called now. Null: always.
  bool (*is_on)() = nullptr;

  // A recording begins: CUPTI has been subscribed to, and nothing is recorded yet. Asks for events by
  // enable_resource().
  void (*begin)() = nullptr;

  // On the service thread: at its pace; when recording is switched; at the end. `hurry`: the process ends.
  void (*flush)() = nullptr;
  void (*pause)(bool paused) = nullptr;
  void (*end)(bool hurry) = nullptr;

  // In the target's threads: waits for locks of ours within bounds only.
  void (*context_created)(CUcontext context) = nullptr;
  void (*context_ending)(CUcontext context) = nullptr;
  // A module's code is there for as long as this call.
  void (*module_loaded)(const CUpti_ModuleResourceData& module) = nullptr;
  void (*module_unloading)(CUcontext context) = nullptr;
  // `call`: what the thread is in.
  void (*graph_node)(CUpti_CallbackIdResource event, const CUpti_GraphData& graph, OpenCall* call) = nullptr;
};

void begin_handlers();
void flush_handlers();
void pause_handlers(bool paused);
void end_handlers(bool hurry);

// A callback of the RESOURCE domain, in a thread that is in `call`.
void on_resource_callback(CUpti_CallbackId id, const CUpti_ResourceData& data, OpenCall* call);

}  // namespace gpuprof::injection::cupti
