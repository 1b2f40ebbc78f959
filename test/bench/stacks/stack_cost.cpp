// Measures the cost of a launch at a given stack depth on the mock driver. Prints ns per launch: the median over
// batches.
//
//   stack_cost [--depth N] [--leaves N] [--climb N] [--launches N] [--batches N]
//
// --leaves N launches from N functions in turn, so that the innermost frame of the program varies. --climb N returns
// from N frames before each launch and enters them again.
#include <cuda.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <utility>
#include <vector>

namespace {

constexpr const char* kKernel = "tiny";
constexpr size_t kMostLeaves = 16;

void check(CUresult result, const char* what) {
  if (result != CUDA_SUCCESS) {
    std::fprintf(stderr, "stack_cost: %s: error %d\n", what, result);
    std::exit(1);
  }
}

long option(int argc, char** argv, const char* name, long otherwise) {
  for (int i = 1; i + 1 < argc; ++i) {
    if (std::strcmp(argv[i], name) == 0) {
      return std::strtol(argv[i + 1], nullptr, 10);
    }
  }
  return otherwise;
}

CUfunction open_device() {
  CUdevice device = 0;
  CUcontext context = nullptr;
  CUmodule module = nullptr;
  CUfunction function = nullptr;
  check(cuInit(0), "cuInit");
  check(cuDeviceGet(&device, 0), "cuDeviceGet");
  check(cuDevicePrimaryCtxRetain(&context, device), "cuDevicePrimaryCtxRetain");
  check(cuCtxSetCurrent(context), "cuCtxSetCurrent");
  check(cuModuleLoadData(&module, "tiny 1\n"), "cuModuleLoadData");
  check(cuModuleGetFunction(&function, module, kKernel), "cuModuleGetFunction");
  return function;
}

template <size_t Number>
__attribute__((noinline)) void launch_from(CUfunction function) {
  check(cuLaunchKernel(function, 1, 1, 1, 32, 1, 1, 0, nullptr, nullptr, nullptr), "cuLaunchKernel");
  // The number differs in each instance of this template, so the instances are not merged. Code after the call
  // prevents a tail call, which would have no frame.
  asm volatile("" ::"i"(Number) : "memory");
}

using Leaf = void (*)(CUfunction);

template <size_t... Numbers>
constexpr std::array<Leaf, sizeof...(Numbers)> leaves_of(std::index_sequence<Numbers...>) {
  return {launch_from<Numbers>...};
}

constexpr auto kLeaves = leaves_of(std::make_index_sequence<kMostLeaves>());

struct Work {
  CUfunction function = nullptr;
  long launches = 0;
  long leaves = 1;
  long climb = 0;
};

// Calls itself through `levels` frames, launches, and returns. So with --climb, that many frames are new at each
// launch.
__attribute__((noinline)) void climb_and_launch(const Work& work, long levels, long number) {
  if (levels > 0) {
    climb_and_launch(work, levels - 1, number);
  } else {
    kLeaves[static_cast<size_t>(number % work.leaves)](work.function);
  }
  asm volatile("" ::: "memory");
}

__attribute__((noinline)) void launch_batch(const Work& work) {
  for (long i = 0; i < work.launches; ++i) {
    climb_and_launch(work, work.climb, i);
  }
}

// Makes frames of usual size that keep a few values in registers.
__attribute__((noinline)) long at_depth(const Work& work, long left, long a, long b) {
  volatile char block[96];
  block[0] = static_cast<char>(left);
  if (left > 0) {
    return at_depth(work, left - 1, a + left, b ^ left) + a + block[0];
  }
  launch_batch(work);
  return a + b;
}

double ns_per_launch(const Work& work, long depth) {
  const auto begin = std::chrono::steady_clock::now();
  at_depth(work, depth, 1, 2);
  const std::chrono::duration<double, std::nano> spent = std::chrono::steady_clock::now() - begin;
  return spent.count() / static_cast<double>(work.launches);
}

}  // namespace

int main(int argc, char** argv) {
  Work work;
  work.launches = option(argc, argv, "--launches", 20000);
  work.leaves = std::clamp(option(argc, argv, "--leaves", 1), 1L, static_cast<long>(kMostLeaves));
  work.climb = std::max(option(argc, argv, "--climb", 0), 0L);
  const long batches = std::max(option(argc, argv, "--batches", 5), 1L);
  const long depth = std::max(option(argc, argv, "--depth", 20) - work.climb, 0L);
  work.function = open_device();
  ns_per_launch(work, depth);  // warm-up
  std::vector<double> times;
  for (long i = 0; i < batches; ++i) {
    times.push_back(ns_per_launch(work, depth));
  }
  std::sort(times.begin(), times.end());
  std::printf("%.0f ns per launch (median of %ld; %.0f to %.0f; 10th percentile %.0f)\n", times[times.size() / 2],
              batches, times.front(), times.back(), times[times.size() / 10]);
  return 0;
}
