// Three call sites and two kernels, the CUDA counterpart of examples/opencl/three_sites.cpp. `heavy` does four times
// the work of `light`. assemble() and postprocess() launch `light`, solve() launches `heavy` as often as each of them.
// So two thirds of the kernel time belong to solve(). Every hundredth iteration also makes a copy each way and a fill.
//
//   example_cuda [--launches N] [--steps N]
#include "setup.h"

// Each step depends on the previous one, so that no compiler can shorten the loop.
__device__ float run(float value, int steps) {
  for (int i = 0; i < steps; ++i) {
    value = value * 0.999f + sqrtf(value + 1.0f);
  }
  return value;
}

__global__ void light(float* data, int steps) {
  data[threadIdx.x] = run(static_cast<float>(threadIdx.x), steps);
}

// This is one long run, because four independent runs would overlap on a GPU.
__global__ void heavy(float* data, int steps) {
  data[threadIdx.x] = run(static_cast<float>(threadIdx.x), 4 * steps);
}

namespace {

constexpr int kThreads = 64;
constexpr long kTransferEvery = 100;
constexpr size_t kBytes = 1 << 18;

__attribute__((noinline)) void assemble(float* data, int steps) {
  light<<<1, kThreads>>>(data, steps);
  check(cudaGetLastError(), "assemble");
}

__attribute__((noinline)) void solve(float* data, int steps) {
  heavy<<<1, kThreads>>>(data, steps);
  check(cudaGetLastError(), "solve");
}

__attribute__((noinline)) void postprocess(float* data, int steps) {
  light<<<1, kThreads>>>(data, steps);
  check(cudaGetLastError(), "postprocess");
}

__attribute__((noinline)) void transfer(float* data, float* host) {
  check(cudaMemcpyAsync(data, host, kBytes, cudaMemcpyHostToDevice), "copy to the device");
  check(cudaMemsetAsync(data, 0, kBytes), "fill");
  check(cudaMemcpyAsync(host, data, kBytes, cudaMemcpyDeviceToHost), "copy to the host");
}

}  // namespace

int main(int argc, char** argv) {
  const long launches = option(argc, argv, "--launches", 500);
  const int steps = static_cast<int>(option(argc, argv, "--steps", 2000));
  float* host = nullptr;  // page-locked, because the driver may split a copy of other memory
  float* data = nullptr;
  check(cudaMallocHost(&host, kBytes), "cudaMallocHost");
  check(cudaMalloc(&data, kBytes), "cudaMalloc");

  long transfers = 0;
  for (long i = 0; i < launches; ++i) {
    if (i % kTransferEvery == 0) {
      transfer(data, host);
      ++transfers;
    }
    assemble(data, steps);
    solve(data, steps);
    postprocess(data, steps);
  }
  check(cudaDeviceSynchronize(), "cudaDeviceSynchronize");

  std::printf("expected assemble light %ld\n", launches);
  std::printf("expected solve heavy %ld\n", launches);
  std::printf("expected postprocess light %ld\n", launches);
  std::printf("expected transfer copy_htod %ld\n", transfers);
  std::printf("expected transfer fill %ld\n", transfers);
  std::printf("expected transfer copy_dtoh %ld\n", transfers);
  check(cudaFree(data), "cudaFree");
  check(cudaFreeHost(host), "cudaFreeHost");
  return 0;
}
