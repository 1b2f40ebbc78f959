#include "cupti/kernel_names.h"

#include <initializer_list>

#include "base/atomics.h"
#include "base/guard.h"
#include "base/monotonic_clock.h"
#include "cupti/cubin.h"
#include "cupti/devices.h"
#include "cupti/host_records.h"
#include "cupti/session.h"
#include "ipc/emit.h"
#include "runtime/launch.h"

namespace gpuprof::injection::cupti {
namespace {

// By which the GPU's times may be off.
constexpr uint64_t kClockSlackNs = 1'000'000;

struct Names {
  uint32_t lock;         // held while a record's name is read, and while an unloading is noted
  uint64_t unloaded_ns;  // atomic; when the last unloading of a module began
  uint32_t nodes_doubted;
  uint32_t device_launches_told;
};
constinit Names names = {};

void module_loaded(const CUpti_ModuleResourceData& module) {
  if (load_relaxed(&names.device_launches_told) == 0 && can_launch_kernels(module.pCubin, module.cubinSize) &&
      swap_if(&names.device_launches_told, 0, 1)) {
    meta("note.device_launches",
         "kernels of this program can launch kernels: those have no records, their time is in the kernel that launched "
         "them");
  }
}

void module_unloading() {
  const bool locked = try_lock_bounded(&names.lock);
  store_release(&names.unloaded_ns, now_ns());
  if (locked) {
    unlock(&names.lock);
  }
}

}  // namespace

uint32_t name_of_launch(const CUpti_CallbackData& data) {
  return data.symbolName == nullptr ? 0 : name_id(data.symbolName);
}

uint32_t name_of_function(CUfunction function) {
  return function == nullptr ? 0 : name_id(function_name(function));
}

uint32_t name_of_record(const KernelRecord& record) {
  if (record.graphNodeId == 0) {
    if (const uint32_t id = launch_name(record.correlationId); id != 0) {
      return id;
    }
  }
  uint32_t id = 0;
  if (try_lock_bounded(&names.lock)) {
    if (to_monotonic(record.start) > load_relaxed(&names.unloaded_ns) + kClockSlackNs ||
        load_relaxed(&names.unloaded_ns) == 0) {
      id = name_id(record.name);
    }
    unlock(&names.lock);
  }
  if (id == 0 && record.graphNodeId != 0 && load_relaxed(&names.nodes_doubted) != 0) {
    lost(GPUPROF_LOSS_KERNEL_NAME, 1);
    return name_id(GPUPROF_UNKNOWN_KERNEL);
  }
  return id;
}

void doubt_node_names() {
  store_relaxed(&names.nodes_doubted, 1U);
}

void enable_module_callbacks(CUpti_SubscriberHandle subscriber) {
  names.unloaded_ns = 0;
  names.nodes_doubted = 0;
  names.device_launches_told = 0;
  for (const CUpti_CallbackIdResource id :
       {CUPTI_CBID_RESOURCE_MODULE_LOADED, CUPTI_CBID_RESOURCE_MODULE_UNLOAD_STARTING,
        CUPTI_CBID_RESOURCE_CONTEXT_DESTROY_STARTING}) {
    session().api.enable_callback(1, subscriber, CUPTI_CB_DOMAIN_RESOURCE, id);
  }
}

// Also while CUPTI is being left: it hands over its last records then.
bool on_module_callback(CUpti_CallbackId id, const CUpti_ResourceData* data) {
  if (id == CUPTI_CBID_RESOURCE_MODULE_UNLOAD_STARTING || id == CUPTI_CBID_RESOURCE_CONTEXT_DESTROY_STARTING) {
    const Guard guard;
    module_unloading();
    return true;
  }
  if (id != CUPTI_CBID_RESOURCE_MODULE_LOADED) {
    return false;
  }
  const auto* module = static_cast<const CUpti_ModuleResourceData*>(data->resourceDescriptor);
  if (module != nullptr) {
    const Guard guard;
    module_loaded(*module);
  }
  return true;
}

}  // namespace gpuprof::injection::cupti
