// A tool that subscribes to CUPTI itself, beside others, as a profiler inside a program does. Counts kernels.
#include <cupti_activity.h>
#include <cupti_callbacks.h>
#include <dlfcn.h>

#include <atomic>
#include <cstdint>
#include <cstdlib>

namespace {

struct Params {
  size_t size = sizeof(Params);
  const char* name = "a tool of the test";
  char* holder = nullptr;
  size_t holder_size = 0;
  uint8_t several = 1;
  uint8_t padding[7] = {};
};

CUpti_SubscriberHandle subscription = nullptr;
std::atomic<uint64_t> kernels{0};

template <typename Function>
Function* function(const char* name, Function*) {
  static void* const cupti = dlopen("libcupti.so.13", RTLD_NOW);
  return reinterpret_cast<Function*>(dlsym(cupti, name));
}

void request(uint8_t** buffer, size_t* size, size_t* most, void*) {
  *size = size_t{4} << 20;
  *buffer = static_cast<uint8_t*>(aligned_alloc(8, *size));
  *most = 0;
}

void complete(uint8_t* buffer, size_t, size_t valid, void*) {
  const auto next = function<CUptiResult(CUpti_SubscriberHandle, uint8_t*, size_t, CUpti_Activity**)>(
      "cuptiActivityGetNextRecord_v2", nullptr);
  CUpti_Activity* record = nullptr;
  while (next(subscription, buffer, valid, &record) == CUPTI_SUCCESS) {
    kernels += record->kind == CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL ? 1 : 0;
  }
  free(buffer);
}

}  // namespace

// Returns the result of cuptiSubscribe_v2.
extern "C" int tool_subscribe() {
  Params params;
  const int result = function<int(CUpti_SubscriberHandle*, void*, void*, Params*)>("cuptiSubscribe_v2", nullptr)(
      &subscription, nullptr, nullptr, &params);
  if (result == CUPTI_SUCCESS) {
    function<int(CUpti_SubscriberHandle, decltype(&request), decltype(&complete))>(
        "cuptiActivityRegisterCallbacks_v2", nullptr)(subscription, request, complete);
    function<int(CUpti_SubscriberHandle, int, void*)>("cuptiActivityEnable_v2", nullptr)(
        subscription, CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, nullptr);
  }
  return result;
}

extern "C" uint64_t tool_kernels() {
  function<CUptiResult(uint32_t)>("cuptiActivityFlushAll", nullptr)(0);
  return kernels;
}
