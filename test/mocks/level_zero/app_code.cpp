// Loads, launches and unloads kernels, and prints the address that the driver reports for each: "code NAME ADDRESS".
#include <cstdio>

#include "app.h"

namespace gpuprof::mock {
namespace {

using GetBaseAddress = ze_result_t(ZE_APICALL*)(ze_kernel_handle_t, uint64_t*);

void say_where(const Gpu& gpu, const char* name, ze_kernel_handle_t kernel) {
  void* function = nullptr;
  uint64_t address = 0;
  if (zeDriverGetExtensionFunctionAddress(gpu.driver, "zexKernelGetBaseAddress", &function) == ZE_RESULT_SUCCESS) {
    CHECK_ZE(reinterpret_cast<GetBaseAddress>(function)(kernel, &address));
  }
  printf("code %s %llu\n", name, static_cast<unsigned long long>(address));
}

void load(uint32_t count, bool says) {
  CHECK_ZE(zeInit(0));
  Gpu gpu;
  ze_command_list_handle_t list = gpu.immediate();
  for (const char* name : {"scale", "add", "scale"}) {
    ze_kernel_handle_t kernel = gpu.kernel(name);
    if (says) {
      say_where(gpu, name, kernel);
    }
    for (uint32_t i = 0; i < count; ++i) {
      launch(list, kernel);
    }
  }
  drain(gpu, list);
}

void code(uint32_t count) {
  load(count, true);
  load(count, true);  // loads the same code again
  expect("load", "kernel", "scale", 4UL * count, 4UL * count * kCopyNs);
  expect("load", "kernel", "add", 2UL * count, 2UL * count * kCopyNs);
}

// Prints no addresses, because the program cannot call the driver's extension with handles that the loader has wrapped.
void code_unsaid(uint32_t count) {
  load(count, false);
}

// Loads the same kernels on each of two drivers, at the same addresses.
void code_of_two(uint32_t count) {
  CHECK_ZE(zeInit(0));
  for (uint32_t driver = 0; driver < 2; ++driver) {
    Gpu gpu(0, -1, driver);
    ze_command_list_handle_t list = gpu.immediate();
    for (const char* name : {"scale", "add"}) {
      ze_kernel_handle_t kernel = gpu.kernel(name);
      for (uint32_t i = 0; i < count; ++i) {
        launch(list, kernel);
      }
    }
    drain(gpu, list);
  }
}

}  // namespace

const std::vector<Case> kCodeCases = {{"code", code}, {"code_unsaid", code_unsaid}, {"code_of_two", code_of_two}};

}  // namespace gpuprof::mock
