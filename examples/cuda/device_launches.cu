// Kernels that launch kernels. CUPTI reports only the parent kernels. Their time includes that of their children.
//
//   example_cuda_device_launches [--launches N]
#include "expect.h"
#include "setup.h"

namespace {
constexpr int kChildren = 3;
}

__global__ void child(int* count) {
  atomicAdd(count, 1);
}

__global__ void parent(int* count) {
  for (int i = 0; i < kChildren; ++i) {
    child<<<1, 32>>>(count);
  }
}

int main(int argc, char** argv) {
  const long launches = option(argc, argv, "--launches", 10);
  int* count = nullptr;
  check(cudaMalloc(&count, sizeof(int)), "cudaMalloc");
  for (long i = 0; i < launches; ++i) {
    parent<<<1, 1>>>(count);
    check(cudaGetLastError(), "launch");
  }
  check(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
  int done = 0;
  check(cudaMemcpy(&done, count, sizeof(done), cudaMemcpyDeviceToHost), "cudaMemcpy");
  expect("children_run", done / 32);
  expect("kernel.parent", launches);
  expect("kernel.child", 0);
  expect("records", launches + 1);
  return 0;
}
