// Kernels whose blocks know when they ran, to compare with gpuprof record --probe=blocks.
//
//   example_blocks [--dump FILE] [--streams N] [--launches N] spin|tail|early|leave|vadd|mm|graph
//
// spin: one of 100 blocks takes ten times as long as the others. tail: 9 blocks take much longer than the other waves.
// early: the threads of a block return at different times. leave: threads return before barriers of others. vadd, mm:
// add vectors, and multiply matrices; prints the least time of a launch. graph: launches spin by a graph. FILE gets the
// times of each block of spin, tail and early as the block itself measured them.
#include <cuda_runtime.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "setup.h"

namespace {

struct Times {
  unsigned long long start;
  unsigned long long end;
  unsigned int sm;
  unsigned int block;
};

__device__ unsigned long long global_ns() {
  unsigned long long ns;
  asm volatile("mov.u64 %0, %globaltimer;" : "=l"(ns));
  return ns;
}

__device__ unsigned int sm_number() {
  unsigned int sm;
  asm volatile("mov.u32 %0, %smid;" : "=r"(sm));
  return sm;
}

__device__ void spin_until(unsigned long long ns) {
  while (global_ns() < ns) {
    __nanosleep(64);  // reads of the timer by many warps slow each other down
  }
}

}  // namespace

__global__ void spin(Times* times, unsigned long long ns) {
  __shared__ unsigned long long start;
  if (threadIdx.x == 0) {
    start = global_ns();
  }
  __syncthreads();
  spin_until(start + (blockIdx.x % 100 == 7 ? 10 * ns : ns));
  __syncthreads();
  if (threadIdx.x == 0) {
    times[blockIdx.x] = {start, global_ns(), sm_number(), blockIdx.x};
  }
}

__global__ void tail(Times* times, unsigned long long ns) {
  __shared__ unsigned long long start;
  if (threadIdx.x == 0) {
    start = global_ns();
  }
  __syncthreads();
  spin_until(start + (blockIdx.x + 9 >= gridDim.x ? 3 * ns : ns));
  __syncthreads();
  if (threadIdx.x == 0) {
    times[blockIdx.x] = {start, global_ns(), sm_number(), blockIdx.x};
  }
}

// The last warp of a block is the last one to end, and half of its threads return before.
__global__ void early(Times* times, unsigned long long ns) {
  __shared__ unsigned long long start;
  if (threadIdx.x == 0) {
    start = global_ns();
    times[blockIdx.x].start = start;
    times[blockIdx.x].sm = sm_number();
    times[blockIdx.x].block = blockIdx.x;
  }
  __syncthreads();
  if (threadIdx.x % 2 == 1) {
    return;
  }
  spin_until(start + ns * (1 + threadIdx.x / 32));
  if (threadIdx.x + 32 < blockDim.x) {
    return;
  }
  if (threadIdx.x + 32 == blockDim.x) {
    times[blockIdx.x].end = global_ns();
  }
}

// Kernels whose threads leave at different places, before barriers and beside other threads that wait.
__global__ void leave_before_shuffle(const float* in, float* out, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) {
    return;
  }
  float value = in[i % n];
  for (int offset = 16; offset > 0; offset /= 2) {
    value += __shfl_xor_sync(__activemask(), value, offset);
  }
  out[i] = value;
}

__global__ void leave_before_barrier(const float* in, float* out, int n) {
  __shared__ float shared[128];
  const int i = threadIdx.x;
  if (i >= n) {
    return;
  }
  shared[i] = in[i];
  __syncthreads();
  out[blockIdx.x * n + i] = shared[n - 1 - i];
}

__global__ void leave_in_loop(const float* in, float* out, int n) {
  const int i = threadIdx.x;
  float sum = 0;
  for (int k = 0; k < n + i % 7; ++k) {
    sum += in[k];
    if (sum > static_cast<float>(30 + i % 20)) {
      return;
    }
    __syncthreads();
  }
  out[blockIdx.x * blockDim.x + i] = sum;
}

__device__ __noinline__ float slow(float x) {
  for (int i = 0; i < 100; ++i) {
    x = x * 0.5F + __sinf(x);
  }
  return x;
}

__global__ void leave_after_call(const float* in, float* out, int n) {
  const int i = threadIdx.x;
  if (i >= n) {
    return;
  }
  const float value = slow(in[i]);
  if (value > 0.7F) {
    return;
  }
  __syncthreads();
  out[blockIdx.x * n + i] = slow(value + in[n - 1 - i]);
  __syncthreads();
  out[blockIdx.x * n + i] += 1;
}

__global__ void vadd(const float* a, const float* b, float* c, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) {
    c[i] = a[i] + b[i];
  }
}

__global__ void mm(const float* a, const float* b, float* c, int n) {
  __shared__ float left[32][33];
  __shared__ float right[32][33];
  const int row = blockIdx.y * 32 + threadIdx.y;
  const int column = blockIdx.x * 32 + threadIdx.x;
  float sum = 0;
  for (int k = 0; k < n; k += 32) {
    left[threadIdx.y][threadIdx.x] = a[row * n + k + threadIdx.x];
    right[threadIdx.y][threadIdx.x] = b[(k + threadIdx.y) * n + column];
    __syncthreads();
    for (int j = 0; j < 32; ++j) {
      sum += left[threadIdx.y][j] * right[j][threadIdx.x];
    }
    __syncthreads();
  }
  c[row * n + column] = sum;
}

namespace {

using Timed = void (*)(Times*, unsigned long long);

void dump(FILE* file, const Times* device, unsigned int blocks) {
  std::vector<Times> times(blocks);
  check(cudaMemcpy(times.data(), device, blocks * sizeof(Times), cudaMemcpyDeviceToHost), "copy");
  if (file != nullptr) {
    fwrite(&blocks, sizeof(blocks), 1, file);
    fwrite(times.data(), sizeof(Times), blocks, file);
  }
}

void run_timed(Timed kernel, unsigned int blocks, int streams, int launches, bool graph, FILE* file) {
  std::vector<cudaStream_t> all(streams);
  std::vector<Times*> times(streams);
  std::vector<cudaGraphExec_t> graphs(streams);
  for (int i = 0; i < streams; ++i) {
    check(cudaStreamCreateWithFlags(&all[i], cudaStreamNonBlocking), "stream");
    check(cudaMalloc(&times[i], blocks * sizeof(Times)), "allocation");
    if (graph) {
      cudaGraph_t captured;
      check(cudaStreamBeginCapture(all[i], cudaStreamCaptureModeGlobal), "capture");
      kernel<<<blocks, 128, 0, all[i]>>>(times[i], 20000);
      check(cudaStreamEndCapture(all[i], &captured), "capture");
      check(cudaGraphInstantiate(&graphs[i], captured, 0), "graph");
    }
  }
  for (int launch = 0; launch < launches; ++launch) {
    for (int i = 0; i < streams; ++i) {
      if (graph) {
        check(cudaGraphLaunch(graphs[i], all[i]), "launch");
      } else {
        kernel<<<blocks, 128, 0, all[i]>>>(times[i], 20000);
        check(cudaGetLastError(), "launch");
      }
    }
    check(cudaDeviceSynchronize(), "kernels");
    for (int i = 0; i < streams; ++i) {
      dump(file, times[i], blocks);
    }
  }
}

template <typename Launch>
void run_cost(const char* name, int launches, Launch launch) {
  cudaEvent_t begin;
  cudaEvent_t end;
  check(cudaEventCreate(&begin), "event");
  check(cudaEventCreate(&end), "event");
  std::vector<float> times;
  for (int i = 0; i < launches; ++i) {
    check(cudaEventRecord(begin), "event");
    launch();
    check(cudaEventRecord(end), "event");
    check(cudaEventSynchronize(end), "kernel");
    float ms = 0;
    check(cudaEventElapsedTime(&ms, begin, end), "event");
    times.push_back(ms);
  }
  std::sort(times.begin(), times.end());
  printf("%s p10 %.0f ns median %.0f ns\n", name, times[times.size() / 10] * 1e6, times[times.size() / 2] * 1e6);
}

unsigned long long checksum(const float* device, size_t count) {
  std::vector<unsigned int> values(count);
  check(cudaMemcpy(values.data(), device, count * sizeof(float), cudaMemcpyDeviceToHost), "copy");
  unsigned long long sum = 0;
  for (const unsigned int value : values) {
    sum = sum * 1099511628211ULL ^ value;
  }
  return sum;
}

void run_products(bool matrices, int launches) {
  const int n = 2048;
  const size_t count = matrices ? size_t{n} * n : size_t{1} << 24;
  std::vector<float> host(count);
  for (size_t i = 0; i < count; ++i) {
    host[i] = static_cast<float>(i % 1000) / 999;
  }
  float* data[3];
  for (float*& one : data) {
    check(cudaMalloc(&one, count * sizeof(float)), "allocation");
    check(cudaMemcpy(one, host.data(), count * sizeof(float), cudaMemcpyHostToDevice), "copy");
  }
  if (matrices) {
    run_cost("mm", launches, [&] { mm<<<dim3(n / 32, n / 32), dim3(32, 32)>>>(data[0], data[1], data[2], n); });
  } else {
    run_cost("vadd", launches, [&] { vadd<<<count / 256, 256>>>(data[0], data[1], data[2], static_cast<int>(count)); });
  }
  printf("checksum %llx\n", checksum(data[2], count));
}

void run_leaving(int launches) {
  const unsigned int blocks = 300;
  const unsigned int threads = 100;
  std::vector<float> host(blocks * threads);
  for (size_t i = 0; i < host.size(); ++i) {
    host[i] = static_cast<float>(i % 37) / 36;
  }
  const size_t bytes = host.size() * sizeof(float);
  float* in = nullptr;
  float* out = nullptr;
  check(cudaMalloc(&in, bytes), "allocation");
  check(cudaMalloc(&out, bytes), "allocation");
  check(cudaMemcpy(in, host.data(), bytes, cudaMemcpyHostToDevice), "copy");
  for (int i = 0; i < launches; ++i) {
    for (auto* kernel : {leave_before_shuffle, leave_before_barrier, leave_in_loop, leave_after_call}) {
      check(cudaMemset(out, 0, bytes), "fill");
      kernel<<<blocks, threads>>>(in, out, 77);
      check(cudaDeviceSynchronize(), "kernel");
      if (i == 0) {
        printf("checksum %llx\n", checksum(out, host.size()));
      }
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  FILE* file = nullptr;
  int streams = 1;
  int launches = 20;
  std::string what;
  for (int i = 1; i < argc; ++i) {
    if (strcmp(argv[i], "--dump") == 0 && i + 1 < argc) {
      file = fopen(argv[++i], "wb");
    } else if (strcmp(argv[i], "--streams") == 0 && i + 1 < argc) {
      streams = atoi(argv[++i]);
    } else if (strcmp(argv[i], "--launches") == 0 && i + 1 < argc) {
      launches = atoi(argv[++i]);
    } else {
      what = argv[i];
    }
  }
  if (what == "spin" || what == "graph") {
    run_timed(spin, streams > 1 ? 200 : 4224, streams, launches, what == "graph", file);
  } else if (what == "tail") {
    run_timed(tail, 132 * 16 * 2 + 9, streams, launches, false, file);
  } else if (what == "early") {
    run_timed(early, 1000, streams, launches, false, file);
  } else if (what == "vadd" || what == "mm") {
    run_products(what == "mm", launches);
  } else if (what == "leave") {
    run_leaving(launches);
  } else {
    fprintf(stderr, "usage: %s [--dump FILE] [--streams N] [--launches N] spin|tail|early|leave|vadd|mm|graph\n",
            argv[0]);
    return 2;
  }
  if (file != nullptr) {
    fclose(file);
  }
  return 0;
}
