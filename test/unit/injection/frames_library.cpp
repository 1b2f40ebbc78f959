// A library for native_walk_test.cpp. Two builds have the same layout, but stack frames of different sizes.
#include <cstdint>
#include <cstdio>
#include <cstdlib>

extern "C" __attribute__((visibility("default"))) void gpuprof_test_call_back(void (*function)(void*), void* data) {
  volatile char frame[GPUPROF_TEST_FRAME_BYTES];
  frame[0] = 1;
  function(data);
  __asm__ volatile("" ::"r"(frame) : "memory");
}

namespace {

__attribute__((constructor)) void constructed() {
  const char* text = getenv("GPUPROF_TEST_CONSTRUCTOR");
  void* function = nullptr;
  void* data = nullptr;
  if (text != nullptr && sscanf(text, "%p %p", &function, &data) == 2) {
    gpuprof_test_call_back(reinterpret_cast<void (*)(void*)>(function), data);
  }
}

}  // namespace
