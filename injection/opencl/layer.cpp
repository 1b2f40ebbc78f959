// Entry points of the layer. Without a recorder, the layer is inactive and gives the loader its own table back.
#include <cstring>

#include "opencl/allocation_table.h"
#include "opencl/completion.h"
#include "opencl/dispatch.h"
#include "opencl/extensions.h"
#include "runtime/lifecycle.h"
#include "runtime/recording.h"

namespace gpuprof::injection::opencl {

cl_icd_dispatch target;

namespace {

cl_icd_dispatch layer;

// Begins a recording. The layer buffers nothing, so it serves flush requests at once.
bool begin(bool /*attached*/) {
  flush_served();
  return true;
}

void in_forked_child() {
  forget_outstanding();
  forget_memory();
  forget_command_buffers();
  report_unknown_calls(false);
}

void exiting() {
  report_unknown_calls(active());
  wait_for_outstanding();
  report_released_memory();
}

constexpr Vendor kVendor = {
    .name = "opencl",
    .load = nullptr,
    .subscribe = begin,
    .forked = in_forked_child,
    .exiting = exiting,
    .works_in_forked_child = true,
    .flush = nullptr,
};

}  // namespace
}  // namespace gpuprof::injection::opencl

using namespace gpuprof::injection;  // NOLINT(google-build-using-namespace)

#pragma GCC visibility push(default)

extern "C" CL_API_ENTRY cl_int CL_API_CALL clGetLayerInfo(cl_layer_info name, size_t capacity, void* value,
                                                          size_t* bytes_ret) {
  switch (name) {
    case CL_LAYER_API_VERSION: {
      const cl_layer_api_version version = CL_LAYER_API_VERSION_100;
      return opencl::answer(&version, sizeof(version), capacity, value, bytes_ret);
    }
    case CL_LAYER_NAME: {
      constexpr char kName[] = "gpuprof";
      return opencl::answer(kName, sizeof(kName), capacity, value, bytes_ret);
    }
    default:
      return CL_INVALID_VALUE;
  }
}

extern "C" CL_API_ENTRY cl_int CL_API_CALL clInitLayer(cl_uint num_entries, const cl_icd_dispatch* target_dispatch,
                                                       cl_uint* num_entries_ret,
                                                       const cl_icd_dispatch** layer_dispatch_ret) {
  constexpr cl_uint kEntries = sizeof(cl_icd_dispatch) / sizeof(void*);
  if (target_dispatch == nullptr || num_entries_ret == nullptr || layer_dispatch_ret == nullptr) {
    return CL_INVALID_VALUE;
  }
  // If OPENCL_LAYERS names the layer twice, the second initialization must do nothing. Otherwise the hooks would call
  // themselves.
  if (!begin_recording(opencl::kVendor)) {
    *num_entries_ret = num_entries;
    *layer_dispatch_ret = target_dispatch;
    return CL_SUCCESS;
  }
  const cl_uint entries = num_entries < kEntries ? num_entries : kEntries;
  memcpy(&opencl::target, target_dispatch, entries * sizeof(void*));
  opencl::layer = opencl::target;
  opencl::hook_calls(opencl::layer);
  opencl::hook_queues(opencl::layer);
  opencl::hook_commands(opencl::layer);
  opencl::hook_waits(opencl::layer);
  opencl::hook_memory(opencl::layer);
  opencl::hook_extensions(opencl::layer);
  *num_entries_ret = entries;
  *layer_dispatch_ret = &opencl::layer;
  return CL_SUCCESS;
}

#pragma GCC visibility pop
