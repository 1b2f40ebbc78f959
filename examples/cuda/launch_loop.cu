// What a launch costs: launches an empty kernel in a loop and prints the nanoseconds per launch, the median of the
// batches. Native against recorded, this is the price of the profiler.
//
//   bench_cuda_launch_loop [--launches N] [--batches N] [--warmup N] [--each]      N launches in each batch
//
// With --each it prints every batch when it is done, with the time of CLOCK_MONOTONIC: for what changes while it runs.
#include <algorithm>
#include <chrono>
#include <cstring>
#include <vector>

#include "setup.h"

__global__ void tiny(float* data) {
  data[threadIdx.x] = 1.0f;
}

namespace {

// Launches between two waits: a fraction of the driver's queue, so that the launching thread never waits in between.
constexpr long kBeforeWait = 500;

__attribute__((noinline)) void launch_tiny(float* data) {
  tiny<<<1, 32>>>(data);
}

void launch_batch(float* data, long launches) {
  for (long i = 0; i < launches; ++i) {
    launch_tiny(data);
    if (i % kBeforeWait == kBeforeWait - 1) {
      check(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
    }
  }
  check(cudaGetLastError(), "launch");
  check(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
}

double ns_per_launch(float* data, long launches) {
  const auto begin = std::chrono::steady_clock::now();
  launch_batch(data, launches);
  const std::chrono::duration<double, std::nano> spent = std::chrono::steady_clock::now() - begin;
  return spent.count() / static_cast<double>(launches);
}

bool has_flag(int argc, char** argv, const char* name) {
  return std::any_of(argv + 1, argv + argc, [&](const char* argument) { return std::strcmp(argument, name) == 0; });
}

void print_batch(double ns) {
  const std::chrono::duration<double> now = std::chrono::steady_clock::now().time_since_epoch();
  std::printf("batch %.3f s %.0f ns per launch\n", now.count(), ns);
  std::fflush(stdout);
}

}  // namespace

int main(int argc, char** argv) {
  const long launches = option(argc, argv, "--launches", 50000);
  const long batches = option(argc, argv, "--batches", 9);
  const long warmup = option(argc, argv, "--warmup", 20000);
  const bool each = has_flag(argc, argv, "--each");
  float* data = nullptr;
  check(cudaMalloc(&data, 32 * sizeof(float)), "cudaMalloc");
  launch_batch(data, warmup);

  std::vector<double> times;
  for (long i = 0; i < batches; ++i) {
    times.push_back(ns_per_launch(data, launches));
    if (each) {
      print_batch(times.back());
    }
  }
  std::sort(times.begin(), times.end());
  std::printf("%.0f ns per launch (median of %ld; %.0f to %.0f), %ld launches\n", times[times.size() / 2], batches,
              times.front(), times.back(), warmup + batches * launches);
  check(cudaFree(data), "cudaFree");
  return 0;
}
