// Another tool's injection library: leaves a mark when called, and takes the only CUPTI subscription on request.
#include <cupti_activity.h>
#include <cupti_callbacks.h>
#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>

namespace {

void ignore(void*, CUpti_CallbackDomain, CUpti_CallbackId, const void*) {}

bool take_place() {
  void* cupti = dlopen("libcupti.so.13", RTLD_NOW);
  const auto subscribe =
      cupti == nullptr ? nullptr : reinterpret_cast<decltype(&cuptiSubscribe)>(dlsym(cupti, "cuptiSubscribe"));
  CUpti_SubscriberHandle subscriber = nullptr;
  return subscribe != nullptr && subscribe(&subscriber, ignore, nullptr) == CUPTI_SUCCESS;
}

}  // namespace

extern "C" int InitializeInjection() {
  const bool subscribed = getenv("MOCK_NEXT_SUBSCRIBES") != nullptr && take_place();
  const char* mark = getenv("MOCK_NEXT_MARK");
  FILE* file = mark != nullptr ? fopen(mark, "a") : nullptr;
  if (file != nullptr) {
    fprintf(file, "called%s\n", subscribed ? ", subscribed" : "");
    fclose(file);
  }
  return 1;
}
