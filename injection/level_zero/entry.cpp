// Hooks Level Zero's initialization: the functions of this preloaded library override those of the same name. None of
// this code runs in a program that never initializes Level Zero. A program that is linked with the loader calls this
// library's zeInit() or zeInitDrivers(). A program that uses dlsym() on a loader handle calls the loader's functions.
// These look up zeGetGlobalProcAddrTable() by name and find this library's.
#include <dlfcn.h>

#include <cstring>

#include "base/atomics.h"
#include "base/keep_errno.h"
#include "level_zero/api/api.h"
#include "level_zero/vendor.h"
#include "runtime/recording.h"

using namespace gpuprof::injection;  // NOLINT(google-build-using-namespace)

namespace {

using InitFunction = ze_result_t(ZE_APICALL*)(ze_init_flags_t);
using InitDriversFunction = ze_result_t(ZE_APICALL*)(uint32_t*, ze_driver_handle_t*, void*);
using TableFunction = ze_result_t(ZE_APICALL*)(ze_api_version_t, void**);

InitFunction table_init = nullptr;
InitDriversFunction table_init_drivers = nullptr;

ze_result_t begin_if(ze_result_t result) {
  if (result == ZE_RESULT_SUCCESS) {
    begin_recording(level_zero::vendor());  // does nothing if a recording has already begun
  }
  return result;
}

template <typename Function, typename... Arguments>
ze_result_t initialize(const char* name, Arguments... arguments) {
  const auto target = reinterpret_cast<Function>(level_zero::find_function(name));
  return target == nullptr ? ZE_RESULT_ERROR_UNINITIALIZED : begin_if(target(arguments...));
}

ze_result_t ZE_APICALL init_from_table(ze_init_flags_t flags) {
  return begin_if(load_acquire(&table_init)(flags));
}

ze_result_t ZE_APICALL init_drivers_from_table(uint32_t* count, ze_driver_handle_t* drivers, void* description) {
  return begin_if(load_acquire(&table_init_drivers)(count, drivers, description));
}

template <typename Function>
void replace(void** entry, Function* kept, Function ours) {
  if (*entry != nullptr && *entry != reinterpret_cast<void*>(ours)) {
    store_release(kept, reinterpret_cast<Function>(*entry));
    *entry = reinterpret_cast<void*>(ours);
  }
}

// Returns the function that the caller would have called without preloading: the one in its own library.
TableFunction own_function(const void* caller, const char* name, bool* is_loader) {
  Dl_info info = {};
  if (dladdr(caller, &info) == 0 || info.dli_fname == nullptr) {
    return nullptr;
  }
  void* library = dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
  if (library == nullptr) {
    return nullptr;
  }
  *is_loader = strstr(info.dli_fname, "libze_loader.so") != nullptr;
  const auto function = reinterpret_cast<TableFunction>(dlsym(library, name));
  dlclose(library);  // the caller's library stays loaded
  return function;
}

}  // namespace

#pragma GCC visibility push(default)

// This is zeInitDrivers() of Level Zero 1.10. Its C++ name differs, because newer headers declare zeInitDrivers() with
// a type that older headers lack.
extern "C" ze_result_t ZE_APICALL gpuprof_init_drivers(uint32_t* count, ze_driver_handle_t* drivers,
                                                       void* description) __asm__("zeInitDrivers");

extern "C" ze_result_t ZE_APICALL zeInit(ze_init_flags_t flags) {
  return initialize<InitFunction>("zeInit", flags);
}

extern "C" ze_result_t ZE_APICALL gpuprof_init_drivers(uint32_t* count, ze_driver_handle_t* drivers,
                                                       void* description) {
  return initialize<InitDriversFunction>("zeInitDrivers", count, drivers, description);
}

// For `record -p`: a thread of the target calls it for the recorder. See injection::attach().
extern "C" int gpuprof_attach(const char* socket, const char* token, unsigned user);

extern "C" int gpuprof_attach(const char* socket, const char* token, unsigned user) {
  const KeepErrno keep_errno;
  return attach(level_zero::vendor(), socket, token, user);
}

// The table holds the addresses of zeInit and, since version 1.10, of zeInitDrivers.
extern "C" ze_result_t ZE_APICALL zeGetGlobalProcAddrTable(ze_api_version_t version, void** table) {
  bool is_loader = false;
  const TableFunction target = own_function(__builtin_return_address(0), "zeGetGlobalProcAddrTable", &is_loader);
  if (target == nullptr) {
    return ZE_RESULT_ERROR_UNINITIALIZED;
  }
  const ze_result_t result = target(version, table);
  if (result == ZE_RESULT_SUCCESS && is_loader && table != nullptr) {
    replace(&table[0], &table_init, &init_from_table);
    if (version >= ZE_MAKE_VERSION(1, 10)) {
      replace(&table[1], &table_init_drivers, &init_drivers_from_table);
    }
  }
  return result;
}

#pragma GCC visibility pop
