#include "cupti/kernel_names.h"

#include <initializer_list>

#include "base/atomics.h"
#include "base/monotonic_clock.h"
#include "cupti/activity/host_records.h"
#include "cupti/cubin.h"
#include "cupti/devices.h"
#include "cupti/probes/block_probes.h"
#include "cupti/session.h"
#include "cupti/subscriber.h"
#include "ipc/emit.h"
#include "runtime/launch.h"

namespace gpuprof::injection::cupti {
namespace {

// Possible error of GPU times relative to CPU times.
constexpr uint64_t kClockSlackNs = 1'000'000;

struct NameState {
  uint32_t lock;         // held while a record's name is read, and while an unload is noted
  uint64_t unloaded_ns;  // atomic; time at which the last unload began
  uint32_t nodes_doubted;
  uint32_t device_launches_reported;
};
constinit NameState doubts = {};

void module_loaded(const CUpti_ModuleResourceData& module) {
  if (load_relaxed(&doubts.device_launches_reported) == 0 && can_launch_kernels(module.pCubin, module.cubinSize) &&
      swap_if(&doubts.device_launches_reported, 0, 1)) {
    meta("note.device_launches",
         "kernels of this program can launch other kernels: CUPTI reports only the launching kernel, whose time "
         "includes the kernels that it launched");
  }
}

// Notes that a module is being unloaded: name pointers in older records may become invalid. This is also needed while
// CUPTI detaches, because CUPTI then still delivers records.
void note_unloading(CUcontext /*context*/) {
  const bool locked = try_lock_bounded(&doubts.lock);
  store_release(&doubts.unloaded_ns, now_ns());
  if (locked) {
    unlock(&doubts.lock);
  }
}

void begin_names(bool again) {
  doubts.unloaded_ns = 0;
  doubts.nodes_doubted = again ? 1 : 0;
  doubts.device_launches_reported = 0;
  for (const CUpti_CallbackIdResource id :
       {CUPTI_CBID_RESOURCE_MODULE_LOADED, CUPTI_CBID_RESOURCE_MODULE_UNLOAD_STARTING,
        CUPTI_CBID_RESOURCE_CONTEXT_DESTROY_STARTING}) {
    enable_resource(id, true);
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
    if (const uint32_t id = launch_name(unique_id(record.correlationId)); id != 0) {
      return id;
    }
  }
  uint32_t id = 0;
  if (try_lock_bounded(&doubts.lock)) {
    if (to_monotonic(record.start) > load_relaxed(&doubts.unloaded_ns) + kClockSlackNs ||
        load_relaxed(&doubts.unloaded_ns) == 0) {
      id = name_id(record.name, original_name_bytes(record.name));
    }
    unlock(&doubts.lock);
  }
  if (id == 0 && record.graphNodeId != 0 && load_relaxed(&doubts.nodes_doubted) != 0) {
    lost(GPUPROF_LOSS_KERNEL_NAME, 1);
    return name_id(GPUPROF_UNKNOWN_KERNEL);
  }
  return id;
}

void distrust_node_names() {
  store_relaxed(&doubts.nodes_doubted, 1U);
}

constexpr EventHandlers kKernelNames = {
    .begin = begin_names,
    .context_ending = note_unloading,
    .module_loaded = module_loaded,
    .module_unloading = note_unloading,
};

}  // namespace gpuprof::injection::cupti
