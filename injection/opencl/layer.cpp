// Entry points of the layer. Without a recorder, the layer is inactive and gives the loader its own table back.
#include <dlfcn.h>

#include <cstdlib>

#include "base/atomics.h"
#include "base/keep_errno.h"
#include "opencl/allocation_table.h"
#include "opencl/completion.h"
#include "opencl/dispatch.h"
#include "opencl/extensions.h"
#include "runtime/lifecycle.h"
#include "runtime/recording.h"

namespace gpuprof::injection::opencl {

cl_icd_dispatch target;

namespace {

constexpr cl_uint kEntries = sizeof(cl_icd_dispatch) / sizeof(void*);

// A loader in which the layer is active. A process can have several: one file in two folders, or a program's own copy.
struct Loader {
  const void* address;
  Loader* next;
  cl_icd_dispatch layer;
};
constinit Loader* loaders = nullptr;
constinit uint32_t lock = 0;

// Begins a recording. The layer buffers nothing, so it serves flush requests at once.
bool begin(bool /*attached*/) {
  exit_first_on_main_thread();
  flush_served();
  return true;
}

void in_forked_child() {
  forget_outstanding();
  forget_memory();
  forget_command_buffers();
  report_unknown_calls(false);
  unlock(&lock);
}

void exiting(bool last) {
  report_unknown_calls(active());
  if (last) {
    count_unfinished();
  } else {
    wait_for_outstanding();
  }
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

// Returns the address of the loader that contains `code`. Keeps it loaded after the target's dlclose(), because
// callbacks of the driver and later loaders call it through `target`.
const void* keep_loaded(const void* code) {
  Dl_info info = {};
  if (dladdr(code, &info) == 0 || info.dli_fname == nullptr) {
    return nullptr;
  }
  static_cast<void>(dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE));
  return info.dli_fbase;
}

// Copies the first entries of `from` to null entries of `to`.
void fill(cl_icd_dispatch& to, const cl_icd_dispatch& from, cl_uint entries) {
  auto* const to_entries = reinterpret_cast<void**>(&to);
  const auto* const from_entries = reinterpret_cast<void* const*>(&from);
  for (cl_uint i = 0; i < entries; ++i) {
    if (to_entries[i] == nullptr) {
      to_entries[i] = from_entries[i];
    }
  }
}

// All loaders share `target`: its functions call the driver of the object that they are given, whichever loader has
// made it. Functions that choose a platform themselves stay those of their loader.
void make_layer(cl_icd_dispatch& layer, const cl_icd_dispatch& below, cl_uint entries, bool is_first) {
  fill(target, below, entries);
  fill(layer, below, entries);
  hook_calls(layer);
  hook_queues(layer);
  hook_commands(layer);
  hook_waits(layer);
  hook_memory(layer);
  hook_extensions(layer);
  if (!is_first) {
    layer.clGetDeviceIDs = below.clGetDeviceIDs;
    layer.clCreateContextFromType = below.clCreateContextFromType;
  }
}

// Returns the layer's table for the loader that contains `code`; null if the layer stays inactive there. If
// OPENCL_LAYERS names the layer twice, the second initialization must do nothing. Otherwise the hooks would call
// themselves.
const cl_icd_dispatch* add_loader(const void* code, const cl_icd_dispatch& below, cl_uint entries) {
  // Comes first: with --stacks=bpf, the recorder reads the mappings again after a dlopen() in a process that it
  // records. Until then, stacks are truncated.
  const void* address = keep_loaded(code);
  if (loaders == nullptr && !begin_recording(kVendor)) {
    return nullptr;
  }
  for (const Loader* known = loaders; known != nullptr; known = known->next) {
    if (known->address == address) {
      return nullptr;
    }
  }
  auto* loader = static_cast<Loader*>(calloc(1, sizeof(Loader)));
  if (loader == nullptr) {
    disable("no memory for the layer of an OpenCL loader");
    return nullptr;
  }
  make_layer(loader->layer, below, entries, loaders == nullptr);
  loader->address = address;
  loader->next = loaders;
  loaders = loader;
  return &loader->layer;
}

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
  if (target_dispatch == nullptr || num_entries_ret == nullptr || layer_dispatch_ret == nullptr) {
    return CL_INVALID_VALUE;
  }
  const KeepErrno keep_errno;
  const cl_uint entries = num_entries < opencl::kEntries ? num_entries : opencl::kEntries;
  const bool locked = try_lock_long(&opencl::lock);
  const cl_icd_dispatch* layer =
      locked ? opencl::add_loader(__builtin_return_address(0), *target_dispatch, entries) : nullptr;
  if (locked) {
    unlock(&opencl::lock);
  } else {
    disable("two threads load OpenCL at the same time");
  }
  *num_entries_ret = layer != nullptr ? entries : num_entries;
  *layer_dispatch_ret = layer != nullptr ? layer : target_dispatch;
  return CL_SUCCESS;
}

#pragma GCC visibility pop
