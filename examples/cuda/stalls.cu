// Kernels that are each slow for one known reason, to check a profile with samples (gpuprof record --pc-sampling)
// against known results:
//
//   chase    a chain of loads from memory                     long_scoreboard
//   meet     one warp works, all others wait for it           barrier
//   grind    more double-precision work than the pipes take   math_pipe_throttle
//   collide  32-way bank conflicts in shared memory           short_scoreboard, mio_throttle
//   stray    half of each warp takes the other branch         16 of 32 threads active in each branch
//   stride   every 8th number of an array                     8 times the sectors of memory that it needs
//   heavy, light   the same work, 4 to 1                      samples 4 to 1, eager and in a graph
//   shared   launched from two functions, 3 to 1              samples split by measured time
//
//   example_cuda_stalls [--rounds N] [--graph]
#include <cstring>
#include <vector>

#include "setup.h"

namespace {

constexpr int kBlocks = 264;  // two blocks per multiprocessor of an H100
constexpr int kThreads = 256;
constexpr unsigned kNodes = 1u << 26;  // 256 MiB: larger than any cache

}  // namespace

__global__ void chase(const unsigned* next, unsigned* out, int steps) {
  unsigned at = (blockIdx.x * blockDim.x + threadIdx.x) * 977u % kNodes;
  for (int i = 0; i < steps; ++i) {
    at = next[at];  // the next iteration waits for this load
  }
  out[blockIdx.x * blockDim.x + threadIdx.x] = at;
}

__global__ void meet(float* out, int steps) {
  __shared__ float value;
  float sum = 0;
  for (int i = 0; i < steps; ++i) {
    if (threadIdx.x < 32) {
      float x = static_cast<float>(i);
      for (int j = 0; j < 64; ++j) {
        x = x * 0.999f + 1.0f;
      }
      value = x;
    }
    __syncthreads();
    sum += value;
    __syncthreads();
  }
  out[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}

__global__ void grind(double* out, int steps) {
  double a = threadIdx.x, b = a + 1, c = a + 2, d = a + 3;
  for (int i = 0; i < steps; ++i) {
    a = a * 0.999 + 1;
    b = b * 0.999 + 1;
    c = c * 0.999 + 1;
    d = d * 0.999 + 1;
  }
  out[blockIdx.x * blockDim.x + threadIdx.x] = a + b + c + d;
}

__global__ void collide(float* out, int steps) {
  __shared__ float table[32 * 32];
  for (unsigned i = threadIdx.x; i < 32 * 32; i += blockDim.x) {
    table[i] = static_cast<float>(i);
  }
  __syncthreads();
  unsigned at = threadIdx.x % 32;
  float sum = 0;
  for (int i = 0; i < steps; ++i) {
    const float value = table[at * 32];  // all threads of a warp access one bank
    sum += value;
    at = (at + static_cast<unsigned>(value) + 1) % 32;
  }
  out[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}

__global__ void stray(float* out, int steps) {
  float x = threadIdx.x;
  for (int i = 0; i < steps; ++i) {
    if ((threadIdx.x + i) % 2 == 0) {
      x = sqrtf(x) * 0.999f + 1.0f;
      x = sqrtf(x + 3.0f) * 0.999f + 1.0f;
      x = sqrtf(x + 5.0f) * 0.999f + 1.0f;
    } else {
      x = __expf(-x) * 0.5f + 1.0f;
      x = __expf(-x - 1.0f) * 0.5f + 1.0f;
      x = __expf(-x - 2.0f) * 0.5f + 1.0f;
    }
    __syncwarp();
  }
  out[blockIdx.x * blockDim.x + threadIdx.x] = x;
}

__global__ void stride(unsigned* numbers) {
  const unsigned at = (blockIdx.x * blockDim.x + threadIdx.x) * 8u;
  numbers[at] += 1;  // the strided access
}

__device__ __forceinline__ float work(float x, int steps) {
  for (int i = 0; i < steps; ++i) {
    x = x * 0.999f + 1.0f;
  }
  return x;
}

__global__ void heavy(float* out, int steps) {
  out[blockIdx.x * blockDim.x + threadIdx.x] = work(threadIdx.x, 4 * steps);
}

__global__ void light(float* out, int steps) {
  out[blockIdx.x * blockDim.x + threadIdx.x] = work(threadIdx.x, steps);
}

__global__ void shared(float* out, int steps) {
  out[blockIdx.x * blockDim.x + threadIdx.x] = work(threadIdx.x, steps);
}

namespace {

struct Memory {
  unsigned* next = nullptr;
  unsigned* ends = nullptr;
  unsigned* numbers = nullptr;
  float* floats = nullptr;
  double* doubles = nullptr;
  cudaStream_t stream = nullptr;
};

Memory allocate() {
  Memory memory;
  std::vector<unsigned> next(kNodes);
  for (unsigned i = 0; i < kNodes; ++i) {
    next[i] = (i * 1664525u + 1013904223u) % kNodes;  // a cycle that visits all elements
  }
  const size_t threads = size_t{kBlocks} * kThreads;
  check(cudaMalloc(&memory.next, kNodes * sizeof(unsigned)), "cudaMalloc");
  check(cudaMalloc(&memory.ends, threads * sizeof(unsigned)), "cudaMalloc");
  check(cudaMalloc(&memory.numbers, 8 * threads * sizeof(unsigned)), "cudaMalloc");
  check(cudaMalloc(&memory.floats, threads * sizeof(float)), "cudaMalloc");
  check(cudaMalloc(&memory.doubles, 4 * threads * sizeof(double)), "cudaMalloc");
  check(cudaMemcpy(memory.next, next.data(), kNodes * sizeof(unsigned), cudaMemcpyHostToDevice), "cudaMemcpy");
  check(cudaStreamCreate(&memory.stream), "cudaStreamCreate");
  return memory;
}

void __attribute__((noinline)) long_path(const Memory& memory) {
  shared<<<kBlocks, kThreads, 0, memory.stream>>>(memory.floats, 60000);
}

void __attribute__((noinline)) short_path(const Memory& memory) {
  shared<<<kBlocks, kThreads, 0, memory.stream>>>(memory.floats, 20000);
}

// Each kernel takes milliseconds. The few samples from the microseconds at its start and end do not matter.
void __attribute__((noinline)) pair(const Memory& memory) {
  heavy<<<kBlocks, kThreads, 0, memory.stream>>>(memory.floats, 500000);
  light<<<kBlocks, kThreads, 0, memory.stream>>>(memory.floats, 500000);
}

void __attribute__((noinline)) reasons(const Memory& memory) {
  chase<<<kBlocks, kThreads, 0, memory.stream>>>(memory.next, memory.ends, 1000);
  meet<<<kBlocks, kThreads, 0, memory.stream>>>(memory.floats, 4000);
  grind<<<kBlocks, 4 * kThreads, 0, memory.stream>>>(memory.doubles, 4000);
  collide<<<kBlocks, kThreads, 0, memory.stream>>>(memory.floats, 10000);
  stray<<<kBlocks, kThreads, 0, memory.stream>>>(memory.floats, 2000);
  stride<<<kBlocks, kThreads, 0, memory.stream>>>(memory.numbers);
}

void eager(const Memory& memory, int rounds) {
  for (int i = 0; i < rounds; ++i) {
    reasons(memory);
    pair(memory);
    long_path(memory);
    short_path(memory);
  }
}

void replayed(const Memory& memory, int rounds) {
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t exec = nullptr;
  check(cudaStreamBeginCapture(memory.stream, cudaStreamCaptureModeGlobal), "cudaStreamBeginCapture");
  pair(memory);
  check(cudaStreamEndCapture(memory.stream, &graph), "cudaStreamEndCapture");
  check(cudaGraphInstantiate(&exec, graph, 0), "cudaGraphInstantiate");
  for (int i = 0; i < rounds; ++i) {
    check(cudaGraphLaunch(exec, memory.stream), "cudaGraphLaunch");
  }
}

}  // namespace

int main(int argc, char** argv) {
  const int rounds = static_cast<int>(option(argc, argv, "--rounds", 20));
  const bool graph = std::strcmp(argv[argc - 1], "--graph") == 0;
  const Memory memory = allocate();
  graph ? replayed(memory, 2 * rounds) : eager(memory, rounds);
  check(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
  check(cudaGetLastError(), "launch");
  return 0;
}
