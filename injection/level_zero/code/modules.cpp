#include "level_zero/code/modules.h"

#include <sys/mman.h>

#include "base/atomics.h"
#include "base/guard.h"
#include "base/monotonic_clock.h"
#include "ipc/emit.h"
#include "ipc/ring.h"
#include "level_zero/devices.h"
#include "level_zero/hooks/timed_call.h"
#include "level_zero/objects.h"
#include "level_zero/stalls/stall_sampling.h"
#include "level_zero/tracer.h"
#include "runtime/code_store.h"
#include "runtime/lifecycle.h"
#include "runtime/service_thread.h"

namespace gpuprof::injection::level_zero {
namespace {

constexpr size_t kMaxCodeBytes = size_t{256} << 20;  // the recorder accepts no larger object
constexpr uint32_t kMaxDrivers = 16;

using GetBaseAddress = ze_result_t(ZE_APICALL*)(ze_kernel_handle_t, uint64_t*);
using GetFunction = decltype(&zeDriverGetExtensionFunctionAddress);
using GetBinary = decltype(&zeModuleGetNativeBinary);
using Translate = decltype(&zelLoaderTranslateHandle);

// An extension function belongs to one driver. With a kernel of another driver, it would crash.
struct Driver {
  ze_driver_handle_t handle;
  GetBaseAddress base_address;  // null if the driver lacks the extension
};

struct Calls {
  GetBinary get_binary;
  Translate translate;  // null if the loader cannot translate its handles, or if they need no translation
  Driver drivers[kMaxDrivers];
  uint32_t driver_count;
};
Calls calls = {};

struct Origin {
  uint32_t device = UINT32_MAX;
  GetBaseAddress base_address = nullptr;  // the function of the device's driver; null if the driver lacks it
};

struct Module {
  const void* handle;
  Module* next;
  uint64_t load;
  uint64_t key;  // key of the module's code; 0: no code
  Origin origin;
};
constinit HandleTable<Module> modules;
uint64_t last_load = 0;

void find_drivers() {
  const auto get_function = reinterpret_cast<GetFunction>(find_function("zeDriverGetExtensionFunctionAddress"));
  ze_driver_handle_t drivers[kMaxDrivers] = {};
  uint32_t count = kMaxDrivers;
  uint32_t found = 0;
  // Callbacks that are already running find no driver until the table is filled.
  store_release(&calls.driver_count, 0U);
  if (api.zeDriverGet(&count, drivers) != ZE_RESULT_SUCCESS) {
    return;
  }
  // With several drivers, the loader uses its own handles, which must be translated before a driver gets them.
  const bool usable = get_function != nullptr && (count == 1 || calls.translate != nullptr);
  for (uint32_t i = 0; i < count && i < kMaxDrivers; ++i) {
    void* function = nullptr;
    const bool known = usable && get_function(drivers[i], "zexKernelGetBaseAddress", &function) == ZE_RESULT_SUCCESS;
    calls.drivers[found++] = {drivers[i], known ? reinterpret_cast<GetBaseAddress>(function) : nullptr};
  }
  store_release(&calls.driver_count, found);
}

GetBaseAddress base_address_of(ze_device_handle_t device) {
  const uint32_t count = load_acquire(&calls.driver_count);
  const ze_driver_handle_t driver = count == 1 ? calls.drivers[0].handle : driver_of(device);
  for (uint32_t i = 0; i < count; ++i) {
    if (calls.drivers[i].handle == driver) {
      return calls.drivers[i].base_address;
    }
  }
  return nullptr;
}

void report_drivers() {
  uint32_t known = 0;
  for (uint32_t i = 0; i < calls.driver_count; ++i) {
    known += calls.drivers[i].base_address != nullptr ? 1 : 0;
  }
  meta("level_zero.kernel_addresses", known == 0                    ? "not available from the driver"
                                      : known == calls.driver_count ? "known"
                                                                    : "available from some of the drivers");
}

uint64_t key_of(const void* bytes, size_t size) {
  gpuprof_code_hasher hasher = {};
  gpuprof_code_hash_add(&hasher, bytes, size);
  const gpuprof_code_hash hash = gpuprof_code_hash_end(&hasher);
  const uint64_t key = hash.words[0] ^ (hash.words[1] << 1U);
  return key != 0 ? key : 1;
}

// Stores the module's native binary. Returns its key, or 0 if the driver provides no binary or it cannot be copied.
uint64_t keep_binary(ze_module_handle_t handle) {
  size_t size = 0;
  if (calls.get_binary == nullptr || calls.get_binary(handle, &size, nullptr) != ZE_RESULT_SUCCESS || size == 0) {
    return 0;
  }
  void* bytes = size > kMaxCodeBytes ? MAP_FAILED
                                     : mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (bytes == MAP_FAILED) {
    lost(GPUPROF_LOSS_DETAIL, 1);
    return 0;
  }
  uint64_t key = 0;
  size_t written = size;
  if (calls.get_binary(handle, &written, static_cast<uint8_t*>(bytes)) == ZE_RESULT_SUCCESS && written == size) {
    key = key_of(bytes, size);
    store_code(GPUPROF_CODE_ZEBIN, key, bytes, size);
    note_work();  // Requests a flush, because the code must be sent even if no GPU work follows.
  }
  munmap(bytes, size);
  return key;
}

void report_gone(uint64_t load) {
  gpuprof_gpu_kernel gone = {};
  gone.header.type = GPUPROF_RECORD_GPU_KERNEL;
  gone.time_ns = now_ns();
  gone.load = load;
  gone.flags = GPUPROF_GPU_KERNEL_GONE;
  emit_record(gone);
}

void remove(Module* module) {
  if (module != nullptr) {
    report_gone(module->load);
    free(module);
  }
}

// Registers a loaded module. `made`: the module's device; null after dynamic linking, which does not change the device.
// Calls the driver before it takes the tables' lock, because the driver's call may take long.
void loaded(ze_module_handle_t handle, const Origin* made) {
  const uint64_t key = wants_code() ? keep_binary(handle) : 0;
  const Locked locked;
  if (!locked.held()) {
    return;
  }
  Module* before = modules.take(handle);
  Origin origin;
  if (made != nullptr) {
    origin = *made;
  } else if (before != nullptr) {
    origin = before->origin;
  }
  remove(before);
  if (Module* module = modules.add(handle); module != nullptr) {
    module->load = ++last_load;
    module->key = key;
    module->origin = origin;
  }
}

ze_kernel_handle_t drivers_handle(ze_kernel_handle_t kernel) {
  void* own = kernel;
  return calls.translate == nullptr || calls.translate(ZEL_HANDLE_KERNEL, kernel, &own) == ZE_RESULT_SUCCESS
             ? static_cast<ze_kernel_handle_t>(own)
             : nullptr;
}

void report_kernel(ze_module_handle_t of, ze_kernel_handle_t handle, const char* name) {
  gpuprof_gpu_kernel kernel = {};
  uint64_t key = 0;
  GetBaseAddress base_address = nullptr;
  {
    const Locked locked;
    if (const Module* module = locked.held() ? modules.find(of) : nullptr; module != nullptr) {
      key = module->key;
      kernel.load = module->load;
      kernel.device = module->origin.device;
      base_address = module->origin.base_address;
    }
  }
  if (base_address == nullptr) {
    return;  // the driver lacks the extension, or the module was created before the recording
  }
  const ze_kernel_handle_t own = drivers_handle(handle);
  if (own == nullptr || base_address(own, &kernel.address) != ZE_RESULT_SUCCESS || kernel.address == 0) {
    return;
  }
  kernel.header.type = GPUPROF_RECORD_GPU_KERNEL;
  kernel.module = key == 0 ? 0 : module_of_code(key);
  kernel.time_ns = now_ns();
  kernel.name_id = name_id(name);
  if (kernel.name_id != 0) {
    emit_record(kernel);
  }
}

#define GPUPROF_CALLBACK_REST ze_result_t /*result*/, void* /*data*/, void** /*call*/
#define GPUPROF_EPILOGUE_REST ze_result_t result, void * /*data*/, void **   /*call*/

void ZE_APICALL module_created(ze_module_create_params_t* call_with, GPUPROF_EPILOGUE_REST) {
  const Guard guard;
  if (guard.entered() && result == ZE_RESULT_SUCCESS && *call_with->pphModule != nullptr) {
    const ze_device_handle_t device = *call_with->phDevice;
    const Origin made = {wants_code() ? own_index(device) : UINT32_MAX, base_address_of(device)};
    loaded(**call_with->pphModule, &made);
    sample_stalls(device);
  }
}

// Linking assigns addresses and may change the code, so the module is registered again. Kernels are created after
// linking.
void ZE_APICALL modules_linked(ze_module_dynamic_link_params_t* call_with, GPUPROF_EPILOGUE_REST) {
  const Guard guard;
  const bool linked = guard.entered() && result == ZE_RESULT_SUCCESS && *call_with->pphModules != nullptr;
  for (uint32_t i = 0; linked && i < *call_with->pnumModules; ++i) {
    loaded((*call_with->pphModules)[i], nullptr);
  }
}

void ZE_APICALL destroy_module(ze_module_destroy_params_t* call_with, GPUPROF_CALLBACK_REST) {
  const LockedCallback locked;
  if (locked.held()) {
    remove(modules.take(*call_with->phModule));
  }
}

void ZE_APICALL kernel_created(ze_kernel_create_params_t* call_with, GPUPROF_EPILOGUE_REST) {
  const Guard guard;
  if (guard.entered() && result == ZE_RESULT_SUCCESS && wants_code() && *call_with->pphKernel != nullptr &&
      *call_with->pdesc != nullptr && (*call_with->pdesc)->pKernelName != nullptr) {
    report_kernel(*call_with->phModule, **call_with->pphKernel, (*call_with->pdesc)->pKernelName);
  }
}

constexpr char kCreateModule[] = "zeModuleCreate";
constexpr char kLink[] = "zeModuleDynamicLink";
constexpr char kCreateKernel[] = "zeKernelCreate";

}  // namespace

bool wants_code() {
  return wants(GPUPROF_OPTION_SAMPLES);
}

bool wants_code_only() {
  return wants(GPUPROF_OPTION_CODE_ONLY);
}

void begin_code() {
  forget_code();
  if (wants_code()) {
    calls.get_binary = reinterpret_cast<GetBinary>(find_function("zeModuleGetNativeBinary"));
    calls.translate = reinterpret_cast<Translate>(find_function("zelLoaderTranslateHandle"));
    find_drivers();
    report_drivers();
  }
}

void flush_code() {
  if (wants_code()) {
    send_stored_code();
  }
}

void forget_modules() {
  modules.forget();
}

void hook_code(bool (*add)(const Hook& hook)) {
  const Hook hooks[] = {
      TimedCall<kCreateModule, true, ze_module_create_params_t, module_created>::hook(true),
      TimedCall<kLink, true, ze_module_dynamic_link_params_t, modules_linked>::hook(true),
      {"ModuleDestroy", as_callback(destroy_module), nullptr, true},
      TimedCall<kCreateKernel, false, ze_kernel_create_params_t, kernel_created>::hook(true),
  };
  add_hooks(add, hooks);
}

void hook_loads(bool (*add)(const Hook& hook)) {
  const Hook hooks[] = {
      TimedCall<kCreateModule, true, ze_module_create_params_t>::hook(true),
      TimedCall<kLink, true, ze_module_dynamic_link_params_t>::hook(true),
      TimedCall<kCreateKernel, false, ze_kernel_create_params_t>::hook(true),
  };
  add_hooks(add, hooks);
}

}  // namespace gpuprof::injection::level_zero
