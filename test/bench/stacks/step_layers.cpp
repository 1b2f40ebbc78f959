// One of the libraries through which python_step.py launches. Each library calls the next one, and the last one
// launches. Compiled without frame pointers, like most libraries.
#include <cuda.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <utility>

#define GPUPROF_NAME_OF(prefix, number) prefix##number
#define GPUPROF_LAYER_OF(number) GPUPROF_NAME_OF(step_layer_, number)

// `path` selects the functions that call each other: three bits for each library.
extern "C" int GPUPROF_LAYER_OF(GPUPROF_NEXT_LAYER)(CUfunction function, uint32_t path);
extern "C" int GPUPROF_LAYER_OF(GPUPROF_LAYER)(CUfunction function, uint32_t path);

namespace {

constexpr size_t kWays = 8;

template <size_t Number>
__attribute__((noinline)) int inner(CUfunction function, uint32_t path) {
  volatile char block[32 + 16 * (Number % 4)];
  block[0] = static_cast<char>(path);
#if GPUPROF_LAYER == 3
  return static_cast<int>(cuLaunchKernel(function, 1, 1, 1, 32, 1, 1, 0, nullptr, nullptr, nullptr)) + 0 * block[0];
#else
  return GPUPROF_LAYER_OF(GPUPROF_NEXT_LAYER)(function, path >> 3U) + 0 * block[0];
#endif
}

template <size_t Number>
__attribute__((noinline)) int outer(CUfunction function, uint32_t path) {
  volatile char block[64 + 16 * (Number % 3)];
  block[0] = static_cast<char>(path);
  return inner<Number>(function, path) + 0 * block[0];
}

using Way = int (*)(CUfunction, uint32_t);

template <size_t... Numbers>
constexpr std::array<Way, sizeof...(Numbers)> ways_of(std::index_sequence<Numbers...>) {
  return {outer<Numbers>...};
}

constexpr auto kAllWays = ways_of(std::make_index_sequence<kWays>());

}  // namespace

extern "C" __attribute__((noinline)) int GPUPROF_LAYER_OF(GPUPROF_LAYER)(CUfunction function, uint32_t path) {
  volatile char block[48];
  block[0] = static_cast<char>(path);
  return kAllWays[path % kWays](function, path) + 0 * block[0];
}

#if GPUPROF_LAYER == 0
// Reads `bytes` of memory, so that the caches hold less of what was used before, as in a program with much other work.
extern "C" uint64_t step_use_cache(size_t bytes) {
  static volatile uint64_t* block = nullptr;
  static size_t size = 0;
  if (size < bytes) {
    block = static_cast<uint64_t*>(calloc(bytes, 1));
    size = bytes;
  }
  uint64_t sum = 0;
  for (size_t i = 0; i < bytes / sizeof(uint64_t); i += 8) {
    block[i] = i;
    sum += block[i];
  }
  return sum;
}
#endif
