#include "level_zero/api/api.h"

#include <dlfcn.h>

namespace gpuprof::injection::level_zero {

Api api;

namespace {

constexpr char kLoader[] = "libze_loader.so.1";

template <typename Function>
bool find(void* loader, const char* name, Function* function) {
  *function = reinterpret_cast<Function>(dlsym(loader, name));
  return *function != nullptr;
}

}  // namespace

void* find_loader() {
  return dlopen(kLoader, RTLD_LAZY | RTLD_NOLOAD);
}

void* find_function(const char* name) {
  void* loader = find_loader();
  if (loader == nullptr) {
    return nullptr;
  }
  void* function = dlsym(loader, name);
  dlclose(loader);  // does not unload the loader, because the target keeps it loaded
  return function;
}

const char* bind() {
  void* loader = find_loader();
  if (loader == nullptr) {
    return kLoader;
  }
#define GPUPROF_ZE_FIND(name)            \
  if (!find(loader, #name, &api.name)) { \
    return #name;                        \
  }
  GPUPROF_ZE_FUNCTIONS(GPUPROF_ZE_FIND)
#undef GPUPROF_ZE_FIND
  return nullptr;
}

}  // namespace gpuprof::injection::level_zero
