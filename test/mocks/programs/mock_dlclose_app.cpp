// A program that loads CUDA, uses it, and unloads it before the program ends.
#include <cuda.h>
#include <dlfcn.h>
#include <link.h>

#include <cstdio>
#include <cstring>

namespace {

template <typename Function>
void look_up(void* library, const char* name, Function* function) {
  *function = reinterpret_cast<Function>(dlsym(library, name));
}

struct Cuda {
  decltype(&cuInit) init;
  decltype(&cuDevicePrimaryCtxRetain) retain;
  decltype(&cuCtxSetCurrent) set_current;
  decltype(&cuModuleLoadData) load;
  decltype(&cuModuleGetFunction) get_function;
  decltype(&cuLaunchKernel) launch;
  decltype(&cuCtxSynchronize) synchronize;

  explicit Cuda(void* library) {
    look_up(library, "cuInit", &init);
    look_up(library, "cuDevicePrimaryCtxRetain", &retain);
    look_up(library, "cuCtxSetCurrent", &set_current);
    look_up(library, "cuModuleLoadData", &load);
    look_up(library, "cuModuleGetFunction", &get_function);
    look_up(library, "cuLaunchKernel", &launch);
    look_up(library, "cuCtxSynchronize", &synchronize);
  }
};

bool launch(const Cuda& cuda, int launches) {
  CUcontext context = nullptr;
  CUmodule module = nullptr;
  CUfunction function = nullptr;
  bool good = cuda.init(0) == CUDA_SUCCESS && cuda.retain(&context, 0) == CUDA_SUCCESS &&
              cuda.set_current(context) == CUDA_SUCCESS && cuda.load(&module, "kernel 4000\n") == CUDA_SUCCESS &&
              cuda.get_function(&function, module, "kernel") == CUDA_SUCCESS;
  for (int i = 0; good && i < launches; ++i) {
    good = cuda.launch(function, 1, 1, 1, 32, 1, 1, 0, nullptr, nullptr, nullptr) == CUDA_SUCCESS;
  }
  return good && cuda.synchronize() == CUDA_SUCCESS;
}

int look_for_cuda(dl_phdr_info* info, size_t /*size*/, void* found) {
  *static_cast<bool*>(found) = *static_cast<bool*>(found) || strstr(info->dlpi_name, "libcuda.so") != nullptr;
  return 0;
}

}  // namespace

int main() {
  constexpr int kLaunches = 100;
  void* cuda = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  if (cuda == nullptr || !launch(Cuda(cuda), kLaunches)) {
    fprintf(stderr, "mock_dlclose_app: CUDA does not work\n");
    return 1;
  }
  dlclose(cuda);
  bool loaded = false;
  dl_iterate_phdr(look_for_cuda, &loaded);
  printf("{\"launches\": %d, \"total_ns\": %d, \"loaded\": %s}\n", kLaunches, kLaunches * 4000,
         loaded ? "true" : "false");
  return 0;
}
