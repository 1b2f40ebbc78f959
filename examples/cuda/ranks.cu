// The CUDA counterpart of examples/opencl/ranks.cpp, with NCCL. Each GPU has a process, which gets its rank from RANK
// and WORLD_SIZE, as with torchrun. A step is transport(), smooth() and all_reduce(), which calls ncclAllReduce on the
// same stream. Starting with step --slow-from, the rank --slow-rank does --factor percent of the others' work in
// smooth(). This rank prints the time at which it became slow (CLOCK_MONOTONIC, ns).
//
//   example_cuda_ranks [--ranks N] [--steps N] [--work N] [--slow-rank R --slow-from STEP --factor PCT]
//                      [--nccl FILE] [--timeout SECONDS]
//
// The program loads NCCL at run time: --nccl names libnccl.so.2, else the loader searches for it (LD_LIBRARY_PATH).
// PyTorch has a copy in site-packages/nvidia/nccl/lib.
#include "ranks_job.h"
#include "ranks_nccl.h"
#include "setup.h"

__global__ void advance(float* x, int steps) {
  float v = x[threadIdx.x];
  for (int i = 0; i < steps; ++i) {
    v = v * 0.999f + 0.5f;
  }
  x[threadIdx.x] = v;
}

__global__ void relax(float* x, int steps) {
  float v = x[threadIdx.x];
  for (int i = 0; i < steps; ++i) {
    v = v * 0.998f + 0.25f;
  }
  x[threadIdx.x] = v;
}

namespace {

constexpr int kThreads = 32;
constexpr size_t kReduced = 1024;  // number of floats

struct Rank {
  Nccl nccl;
  NcclComm comm = nullptr;
  cudaStream_t stream = nullptr;
  float* data = nullptr;
  float* reduced = nullptr;
};

__attribute__((noinline)) void transport(const Rank& rank, int work) {
  advance<<<1, kThreads, 0, rank.stream>>>(rank.data, work);
  check(cudaGetLastError(), "launch of advance");
}

__attribute__((noinline)) void smooth(const Rank& rank, int work) {
  relax<<<1, kThreads, 0, rank.stream>>>(rank.data, work);
  check(cudaGetLastError(), "launch of relax");
}

// On the GPU, NCCL's kernel waits for the kernels of the other ranks.
__attribute__((noinline)) void all_reduce(const Rank& rank) {
  rank.nccl.check(
      rank.nccl.all_reduce(rank.reduced, rank.reduced, kReduced, kNcclFloat, kNcclSum, rank.comm, rank.stream),
      "ncclAllReduce");
}

// Waits for the GPU after each step, like a training loop that prints its loss. So the CPU is at most one step ahead.
__attribute__((noinline)) void end_step(const Rank& rank) {
  check(cudaStreamSynchronize(rank.stream), "cudaStreamSynchronize");
}

void open_rank(Rank& rank, const Arguments& arguments, long number, long ranks) {
  int devices = 0;
  check(cudaGetDeviceCount(&devices), "cudaGetDeviceCount");
  if (ranks > devices) {
    std::fprintf(stderr, "%ld ranks want %ld GPUs, and this machine has %d: --ranks %d\n", ranks, ranks, devices,
                 devices);
    std::exit(kNotHere);
  }
  check(cudaSetDevice(static_cast<int>(number)), "cudaSetDevice");
  check(cudaStreamCreateWithFlags(&rank.stream, cudaStreamNonBlocking), "cudaStreamCreateWithFlags");
  check(cudaMalloc(&rank.data, kThreads * sizeof(float)), "cudaMalloc");
  check(cudaMalloc(&rank.reduced, kReduced * sizeof(float)), "cudaMalloc");
  check(cudaMemset(rank.data, 0, kThreads * sizeof(float)), "cudaMemset");
  check(cudaMemset(rank.reduced, 0, kReduced * sizeof(float)), "cudaMemset");
  check(cudaDeviceSynchronize(), "cudaDeviceSynchronize");

  rank.nccl = load_nccl(arguments.text("--nccl", "libnccl.so.2"));
  Shared* shared = map_shared();
  NcclUniqueId id{};
  if (number == 0) {
    rank.nccl.check(rank.nccl.get_unique_id(&id), "ncclGetUniqueId");
    publish(*shared, id.bytes, sizeof id.bytes);
  } else {
    receive(*shared, id.bytes, sizeof id.bytes);
  }
  rank.nccl.check(rank.nccl.comm_init_rank(&rank.comm, static_cast<int>(ranks), id, static_cast<int>(number)),
                  "ncclCommInitRank");
}

void close_rank(Rank& rank) {
  check(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
  rank.nccl.check(rank.nccl.comm_destroy(rank.comm), "ncclCommDestroy");
  check(cudaFree(rank.reduced), "cudaFree");
  check(cudaFree(rank.data), "cudaFree");
  check(cudaStreamDestroy(rank.stream), "cudaStreamDestroy");
}

int be_rank(const Arguments& arguments, long number, long ranks) {
  const long steps = arguments.positive("--steps", 2000);
  const long work = arguments.positive("--work", 500'000);
  const long factor = arguments.positive("--factor", 200);
  const bool slow = arguments.number("--slow-rank", -1) == number;
  const long slow_from = arguments.number("--slow-from", 0);
  const long slow_work = work * factor / 100;
  if (work > kMostWork || slow_work > kMostWork) {
    std::fprintf(stderr, "--work times --factor is too much: at most %ld\n", kMostWork);
    return kUsage;
  }
  Rank rank;
  open_rank(rank, arguments, number, ranks);
  for (int i = 0; i < 5; ++i) {  // These steps are not measured, because they set up connections and load kernels.
    transport(rank, 1);
    smooth(rank, 1);
    all_reduce(rank);
    end_step(rank);
  }
  for (long step = 0; step < steps; ++step) {
    if (slow && step == slow_from) {
      std::printf("rank %ld is slow from %llu on\n", number, static_cast<unsigned long long>(now_ns()));
      std::fflush(stdout);
    }
    transport(rank, static_cast<int>(work));
    smooth(rank, static_cast<int>(slow && step >= slow_from ? slow_work : work));
    all_reduce(rank);
    end_step(rank);
  }
  close_rank(rank);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  const Arguments arguments(argc, argv);
  const long seconds = arguments.positive("--timeout", 300);
  const char* const rank = std::getenv(kRankOfJob);
  if (rank == nullptr) {
    return launch_ranks(argv, arguments.positive("--ranks", 2), seconds);
  }
  alarm(static_cast<unsigned>(seconds));  // limits all waits, because the other rank may have died
  return be_rank(arguments, std::strtol(rank, nullptr, 10), arguments.positive("--ranks", 2));
}
