// Measures the cost of a launch: launches an empty kernel in a loop and prints the nanoseconds per launch (median of
// the batches). The difference between a native and a recorded run is the profiler's overhead.
//
//   bench_cuda_launch_loop [--launches N] [--batches N] [--warmup N] [--depth N] [--leaves N] [--each]
//
// --launches: launches per batch. --each prints each batch when it ends, with its CLOCK_MONOTONIC time, to see changes
// during the run. Two options show what stacks cost: --depth N launches below N nested calls of a function without a
// frame pointer, and --leaves N launches from N functions in turn (at most 16).
#include <algorithm>
#include <array>
#include <chrono>
#include <cstring>
#include <utility>
#include <vector>

#include "setup.h"

__global__ void tiny(float* data) {
  data[threadIdx.x] = 1.0f;
}

namespace {

// Number of launches between two synchronizations. The driver's queue can hold more launches, so none blocks the
// thread.
constexpr long kBeforeWait = 500;

constexpr size_t kMostLeaves = 16;

__attribute__((noinline)) void launch_tiny(float* data) {
  tiny<<<1, 32>>>(data);
}

template <size_t Number>
__attribute__((noinline)) void launch_from(float* data) {
  launch_tiny(data);
  // This statement keeps compilers from merging these functions, and from making tail calls.
  asm volatile("" ::"i"(Number) : "memory");
}

using Leaf = void (*)(float*);

template <size_t... Numbers>
constexpr std::array<Leaf, sizeof...(Numbers)> leaves_of(std::index_sequence<Numbers...>) {
  return {launch_from<Numbers>...};
}

constexpr std::array<Leaf, kMostLeaves> kLeaves = leaves_of(std::make_index_sequence<kMostLeaves>());

struct Batch {
  float* data = nullptr;
  long launches = 0;
  long leaves = 1;
};

__attribute__((noinline)) void launch_batch(const Batch& batch) {
  for (long i = 0; i < batch.launches; ++i) {
    if (batch.leaves > 1) {
      kLeaves[static_cast<size_t>(i % batch.leaves)](batch.data);
    } else {
      launch_tiny(batch.data);
    }
    if (i % kBeforeWait == kBeforeWait - 1) {
      check(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
    }
  }
  check(cudaGetLastError(), "launch");
  check(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
}

// Omits frame pointers, as most programs do, even if the compiler options request them.
#if defined(__GNUC__) && !defined(__clang__)
__attribute__((optimize("omit-frame-pointer")))
#endif
__attribute__((noinline)) long
at_depth(const Batch& batch, long left, long a, long b) {
  volatile char block[96];
  block[0] = static_cast<char>(left);
  if (left > 0) {
    return at_depth(batch, left - 1, a + left, b ^ left) + a + block[0];
  }
  launch_batch(batch);
  return a + b;
}

double ns_per_launch(const Batch& batch, long depth) {
  const auto begin = std::chrono::steady_clock::now();
  at_depth(batch, depth, 1, 2);
  const std::chrono::duration<double, std::nano> spent = std::chrono::steady_clock::now() - begin;
  return spent.count() / static_cast<double>(batch.launches);
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
  const long depth = option(argc, argv, "--depth", 1);
  const bool each = has_flag(argc, argv, "--each");
  Batch batch;
  batch.launches = launches;
  batch.leaves = std::min(option(argc, argv, "--leaves", 1), static_cast<long>(kMostLeaves));
  check(cudaMalloc(&batch.data, 32 * sizeof(float)), "cudaMalloc");
  launch_batch({batch.data, warmup, batch.leaves});

  std::vector<double> times;
  for (long i = 0; i < batches; ++i) {
    times.push_back(ns_per_launch(batch, depth));
    if (each) {
      print_batch(times.back());
    }
  }
  std::sort(times.begin(), times.end());
  std::printf("%.0f ns per launch (median of %ld; %.0f to %.0f; 10th percentile %.0f), %ld launches\n",
              times[times.size() / 2], batches, times.front(), times.back(), times[times.size() / 10],
              warmup + batches * launches);
  check(cudaFree(batch.data), "cudaFree");
  return 0;
}
