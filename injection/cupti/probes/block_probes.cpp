#include "cupti/probes/block_probes.h"

#include <cstdio>
#include <cstring>

#include "base/guard.h"
#include "base/handle_table.h"
#include "base/monotonic_clock.h"
#include "cupti/api/call_params_abi.h"
#include "cupti/probes/block_memory.h"
#include "cupti/probes/driver.h"
#include "cupti/probes/probe_counts.h"
#include "cupti/probes/ptx_probes.h"
#include "cupti/sampling/exact_launches.h"
#include "cupti/session.h"
#include "ipc/emit.h"
#include "runtime/launch_notes.h"

namespace gpuprof::injection::cupti {
namespace {

constexpr size_t kMostParams = 256;
constexpr uint64_t kExitReadNs = 1'000'000'000;  // to read blocks, so that at the end of a process all work is sent

// A kernel of the target in one context.
struct Function {
  const void* handle;  // of kernel and context: key_of()
  Function* next;
  CUfunction kernel;  // as the target passes it, perhaps a CUkernel
  CUcontext context;
  CUfunction copy;  // the probed copy; null: there is none
  size_t params;    // of the original
  int shared;       // dynamic shared memory that the copy may have
  int threads;      // most threads of a block of the copy
  uint32_t epoch;   // of functions_epoch
};

constinit uint32_t lock = 0;
constinit HandleTable<Function> functions = {};
// Atomic. How often code was unloaded: what was found before may be gone, and its handles in use for other code.
constinit uint32_t functions_epoch = 0;

// The arguments of the thread's open launch.
constinit thread_local void* arguments[kMostParams + 1] = {};
constinit thread_local uint64_t block_memory = 0;

const void* key_of(CUfunction kernel, CUcontext context) {
  return reinterpret_cast<const void*>(reinterpret_cast<uintptr_t>(kernel) * 31 ^ reinterpret_cast<uintptr_t>(context));
}

// What a launch passes, whichever function it calls.
struct Arguments {
  CUfunction* function;
  void*** params;
  GridShape grid;
  unsigned int threads;
  unsigned int shared;
  bool special;  // cooperative, in clusters, or with packed arguments
};

bool is_special(const CUlaunchConfig& config) {
  for (unsigned int i = 0; i < config.numAttrs; ++i) {
    const CUlaunchAttributeID id = config.attrs[i].id;
    if (id == CU_LAUNCH_ATTRIBUTE_COOPERATIVE || id == CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION) {
      return true;
    }
  }
  return false;
}

Arguments arguments_of(const CUpti_CallbackData& data) {
  const char* name = data.functionName == nullptr ? "" : data.functionName;
  auto* given = const_cast<void*>(data.functionParams);
  if (given != nullptr && (strcmp(name, "cuLaunchKernel") == 0 || strcmp(name, "cuLaunchKernel_ptsz") == 0)) {
    auto* launch = static_cast<cuLaunchKernel_params*>(given);
    return {&launch->f,
            &launch->kernelParams,
            {launch->gridDimX, launch->gridDimY, launch->gridDimZ},
            launch->blockDimX * launch->blockDimY * launch->blockDimZ,
            launch->sharedMemBytes,
            launch->extra != nullptr};
  }
  if (given != nullptr && (strcmp(name, "cuLaunchKernelEx") == 0 || strcmp(name, "cuLaunchKernelEx_ptsz") == 0)) {
    auto* launch = static_cast<cuLaunchKernelEx_params*>(given);
    if (launch->config != nullptr) {
      const CUlaunchConfig& config = *launch->config;
      return {&launch->f,
              &launch->kernelParams,
              {config.gridDimX, config.gridDimY, config.gridDimZ},
              config.blockDimX * config.blockDimY * config.blockDimZ,
              config.sharedMemBytes,
              launch->extra != nullptr || is_special(config)};
    }
  }
  return {};
}

// Copies what the target has set for the original.
void copy_attributes(CUfunction original, Function* function) {
  const ProbeDriver& driver = probe_driver();
  int value = 0;
  if (driver.function_attribute(&value, CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT, original) == CUDA_SUCCESS) {
    driver.set_function_attribute(function->copy, CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT, value);
  }
  driver.function_attribute(&function->shared, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, function->copy);
  driver.function_attribute(&function->threads, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, function->copy);
}

void compare_occupancy(CUfunction original, const Function& function, const Arguments& launch, const char* name) {
  int before = 0;
  int after = 0;
  const auto threads = static_cast<int>(launch.threads);
  if (probe_driver().occupancy(&before, original, threads, launch.shared) == CUDA_SUCCESS &&
      probe_driver().occupancy(&after, function.copy, threads, launch.shared) == CUDA_SUCCESS && before != after) {
    note_occupancy(name, before, after);
  }
}

// Finds the probed copy of a kernel.
void find_copy(const Arguments& launch, const char* name, Function* function) {
  const ProbeDriver& driver = probe_driver();
  CUfunction original = function->kernel;
  CUmodule module = nullptr;
  if (driver.module_of(&module, original) != CUDA_SUCCESS &&
      (driver.function_of_kernel(&original, reinterpret_cast<CUkernel>(function->kernel)) != CUDA_SUCCESS ||
       driver.module_of(&module, original) != CUDA_SUCCESS)) {
    return;
  }
  char copy_name[4096];
  const int length = snprintf(copy_name, sizeof(copy_name), "%s%s", name, kProbedSuffix);
  if (length < 0 || length >= static_cast<int>(sizeof(copy_name)) ||
      driver.module_function(&function->copy, module, copy_name) != CUDA_SUCCESS) {
    function->copy = nullptr;
    return;
  }
  size_t offset = 0;
  size_t size = 0;
  while (function->params <= kMostParams &&
         driver.param_info(original, function->params, &offset, &size) == CUDA_SUCCESS) {
    ++function->params;
  }
  if (function->params > kMostParams) {
    function->copy = nullptr;
    return;
  }
  copy_attributes(original, function);
  compare_occupancy(original, *function, launch, name);
}

Function* function_for(const Arguments& launch, const CUpti_CallbackData& data) {
  const void* key = key_of(*launch.function, data.context);
  const uint32_t epoch = load_relaxed(&functions_epoch);
  Function* function = functions.find(key);
  if (function == nullptr) {
    function = functions.add(key);
    if (function == nullptr) {
      return nullptr;
    }
    function->epoch = epoch - 1;
  }
  if (function->epoch != epoch) {
    *function = {key, function->next, *launch.function, data.context, nullptr, 0, 0, 0, epoch};
    find_copy(launch, data.symbolName, function);
  }
  const bool is_this = function->kernel == *launch.function && function->context == data.context;
  return is_this ? function : nullptr;
}

// Allows the copy as much shared memory as the launch has.
bool allow_shared(unsigned int bytes, Function* function) {
  if (bytes <= static_cast<unsigned int>(function->shared)) {
    return true;
  }
  if (probe_driver().set_function_attribute(function->copy, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
                                            static_cast<int>(bytes)) != CUDA_SUCCESS) {
    return false;
  }
  function->shared = static_cast<int>(bytes);
  return true;
}

LaunchProbe replace(const CUpti_CallbackData& data, uint64_t correlation, const Arguments& launch) {
  if (!try_lock_bounded(&lock)) {
    return LaunchProbe::no_copy;
  }
  Function* function = function_for(launch, data);
  const bool usable = function != nullptr && function->copy != nullptr &&
                      launch.threads <= static_cast<unsigned int>(function->threads) &&
                      allow_shared(launch.shared, function);
  const Function copied = usable ? *function : Function{};
  unlock(&lock);
  if (!usable) {
    return LaunchProbe::no_copy;
  }
  if (capturing()) {
    return LaunchProbe::in_capture;
  }
  if (launch.special || (*launch.params == nullptr && copied.params > 0)) {
    return LaunchProbe::special;
  }
  block_memory = take_block_memory(data.context, correlation, launch.grid);
  if (block_memory == 0) {
    return LaunchProbe::no_memory;
  }
  for (size_t i = 0; i < copied.params; ++i) {
    arguments[i] = (*launch.params)[i];
  }
  arguments[copied.params] = &block_memory;
  *launch.function = copied.copy;
  *launch.params = arguments;
  return LaunchProbe::probed;
}

void begin(bool again) {
  if (again) {
    // While CUPTI was detached, contexts may have been destroyed and code unloaded, and others may have their handles.
    if (probing()) {
      store_relaxed(&probing_blocks, 0U);
      meta("note.probes_ended", "no launch is probed after recording was switched off for the first time");
    }
    return;
  }
  const char* missing = wants(GPUPROF_OPTION_BLOCKS) ? find_probe_driver() : nullptr;
  if (missing != nullptr) {
    char text[200];
    snprintf(text, sizeof(text), "no kernel is probed, because the driver has no %s: CUDA 12.4 or later is needed",
             missing);
    meta("note.probes_off", text);
  }
  reset_probe_counts();
  store_relaxed(&probing_blocks, wants(GPUPROF_OPTION_BLOCKS) && missing == nullptr ? 1U : 0U);
}

void context_ending(CUcontext context) {
  session().api.flush_all(0);
  read_blocks(context, UINT64_MAX);
  forget_functions();
  forget_block_memory(context);
}

}  // namespace

void forget_functions() {
  add_relaxed(&functions_epoch, 1U);
}

void probe_launch(const CUpti_CallbackData& data, uint64_t correlation) {
  LaunchNote note = {};
  if (find_launch(correlation, &note) && (note.flags & kLaunchOutside) != 0) {
    return;  // its work is not sent, so nothing would join its blocks
  }
  const Arguments launch = arguments_of(data);
  if (launch.function == nullptr || data.symbolName == nullptr) {
    count_launch(LaunchProbe::no_copy);
    return;
  }
  const OwnCalls own;
  count_launch(replace(data, correlation, launch));
}

void report_probes() {
  if (probing()) {
    report_probe_counts();
  }
}

size_t original_name_bytes(const char* name) {
  const size_t length = strlen(name);
  constexpr size_t kBytes = sizeof(kProbedSuffix) - 1;
  return length > kBytes && strcmp(name + length - kBytes, kProbedSuffix) == 0 ? length - kBytes : length;
}

constexpr EventHandlers kBlockProbes = {
    .is_on = probing,
    .begin = begin,
    .flush = [] { read_blocks(nullptr, UINT64_MAX); },
    .end = [](bool /*hurry*/) { read_blocks(nullptr, now_ns() + kExitReadNs); },
    .context_ending = context_ending,
};

}  // namespace gpuprof::injection::cupti
