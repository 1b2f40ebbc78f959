#include "cupti/event_handlers.h"

#include "base/atomics.h"
#include "base/guard.h"
#include "cupti/counting/sass_counting.h"
#include "cupti/graphs.h"
#include "cupti/kernel_names.h"
#include "cupti/probes/block_probes.h"
#include "cupti/sampling/pc_sampling.h"
#include "cupti/sampling/sampled_code.h"
#include "cupti/session.h"
#include "cupti/subscriber.h"
#include "runtime/lifecycle.h"

namespace gpuprof::injection::cupti {
namespace {

// The parts get events in this order. kBlockProbes sends work that the others may need, so it is first. kSampling and
// kCounting read the code that kSampledCode stores, so they come after it. kKernelNames comes after them: at an unload
// they still need the names that it then marks as unreliable.
constexpr const EventHandlers* kHandlers[] = {&kBlockProbes, &kSampledCode, &kSampling,
                                              &kCounting,    &kKernelNames, &kGraphNodes};

template <typename... Parameters, typename... Arguments>
void call_all(void (*EventHandlers::*event)(Parameters...), const Arguments&... arguments) {
  const Guard guard;
  for (const EventHandlers* part : kHandlers) {
    if (part->*event != nullptr && (part->is_on == nullptr || part->is_on())) {
      (part->*event)(arguments...);
    }
  }
}

void report_graph_node(CUpti_CallbackId id, const CUpti_ResourceData& data, OpenCall* call) {
  const Guard guard;
  if (guard.entered() && active() && !finalizing() && data.resourceDescriptor != nullptr) {
    call_all(&EventHandlers::graph_node, static_cast<CUpti_CallbackIdResource>(id),
             *static_cast<const CUpti_GraphData*>(data.resourceDescriptor), call);
  }
}

}  // namespace

void begin_handlers(bool again) {
  for (const EventHandlers* part : kHandlers) {
    if (part->begin != nullptr) {
      part->begin(again);
    }
  }
}

void flush_handlers() {
  call_all(&EventHandlers::flush);
}

void pause_handlers(bool paused) {
  call_all(&EventHandlers::pause, paused);
}

void end_handlers(bool hurry) {
  call_all(&EventHandlers::end, hurry);
}

void on_resource_callback(CUpti_CallbackId id, const CUpti_ResourceData& data, OpenCall* call) {
  switch (id) {
    case CUPTI_CBID_RESOURCE_CONTEXT_CREATED:
      store_relaxed(&session().contexts, 1U);
      call_all(&EventHandlers::context_created, data.context);
      break;
    case CUPTI_CBID_RESOURCE_CONTEXT_DESTROY_STARTING:
      call_all(&EventHandlers::context_ending, data.context);
      break;
    case CUPTI_CBID_RESOURCE_MODULE_UNLOAD_STARTING:
      call_all(&EventHandlers::module_unloading, data.context);
      break;
    case CUPTI_CBID_RESOURCE_MODULE_LOADED:
      if (data.resourceDescriptor != nullptr) {
        call_all(&EventHandlers::module_loaded, *static_cast<const CUpti_ModuleResourceData*>(data.resourceDescriptor));
      }
      break;
    case CUPTI_CBID_RESOURCE_GRAPHNODE_CREATED:
    case CUPTI_CBID_RESOURCE_GRAPHNODE_CLONED:
    case CUPTI_CBID_RESOURCE_GRAPHNODE_DESTROY_STARTING:
    case CUPTI_CBID_RESOURCE_GRAPH_NODE_UPDATED:
    case CUPTI_CBID_RESOURCE_GRAPH_NODE_SET_PARAMS:
      report_graph_node(id, data, call);
      break;
    default:
      break;  // No part handles this event. For example, MODULE_PROFILED is enabled only for its side effect.
  }
}

}  // namespace gpuprof::injection::cupti
