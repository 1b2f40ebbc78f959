// The GPU work of mock_cuda_app, except graphs and the steady loop.
#include <unistd.h>

#include <cerrno>
#include <chrono>

#include "mock_app.h"
#include "mock_cudart.h"

namespace gpuprof::mock_app {

using mock::copy_ns;
using mock::fill_ns;

void Worker::open(int index) {
  const std::string image = std::string(kCheap) + " " + std::to_string(kCheapNs) + "\n" + kDear + " " +
                            std::to_string(kDearNs) + "\n" + kEndless + " 3600000000000\n";
  int devices = 0;
  CHECK(cuDeviceGetCount(&devices));
  CHECK(cuDeviceGet(&device, index % devices));
  CHECK(cuDevicePrimaryCtxRetain(&context, device));
  CHECK(cuCtxSetCurrent(context));
  CHECK(cuStreamCreate(&stream, 0));
  CHECK(cuModuleLoadData(&module, image.c_str()));
  CHECK(cuModuleGetFunction(&cheap, module, kCheap));
  CHECK(cuModuleGetFunction(&dear, module, kDear));
  CHECK(cuModuleGetFunction(&endless, module, kEndless));
  CHECK(cuMemAlloc(&memory, 2 * kBytes));
  totals.add_host("alloc", 1, 2 * kBytes);
}

void Worker::launch(CUfunction function, const char* name, uint64_t ns) {
  constexpr int kErrno = 4321;  // the driver does not change errno, so a subscriber to its callbacks must not either
  errno = kErrno;
  if (options.driver_api) {
    CHECK(cuLaunchKernel(function, 1, 1, 1, 32, 1, 1, 0, stream, nullptr, nullptr));
  } else {
    CHECK(mock::runtime_launch(function, stream));
  }
  if (errno != kErrno) {
    fprintf(stderr, "mock_cuda_app: a launch changed errno to %d\n", errno);
    exit(1);
  }
  ++totals.launches;
  totals.add(name, ns, 0);
}

void Worker::transferred(const char* name, uint64_t ns, uint64_t bytes) {
  ++totals.launches;
  totals.add(name, ns, bytes);
}

void Worker::synchronize() {
  CHECK(cuStreamSynchronize(stream));
  totals.add_host("sync", 1, 0);
}

__attribute__((noinline)) void assemble(Worker& worker) {
  if (!worker.options.kernels_only) {
    CHECK(worker.options.driver_api
              ? cuMemcpyHtoDAsync(worker.memory, worker.host.data(), kBytes, worker.stream)
              : mock::runtime_copy_to_device(worker.memory, worker.host.data(), kBytes, worker.stream));
    worker.transferred("copy_htod", copy_ns(kBytes));
  }
  worker.launch(worker.cheap, kCheap, kCheapNs);
}

namespace {

__attribute__((noinline)) void solve(Worker& worker) {
  worker.launch(worker.dear, kDear, kDearNs);
  if (!worker.options.kernels_only) {
    CHECK(cuMemcpyDtoDAsync(worker.memory, worker.memory + kBytes, kBytes, worker.stream));
    worker.transferred("copy_dtod", copy_ns(kBytes));
    CHECK(cuMemcpyPeerAsync(worker.memory, nullptr, worker.memory + kBytes, nullptr, kBytes, worker.stream));
    worker.transferred("copy_ptop", copy_ns(kBytes));
  }
}

__attribute__((noinline)) void postprocess(Worker& worker) {
  worker.launch(worker.cheap, kCheap, kCheapNs);
  if (!worker.options.kernels_only) {
    CHECK(worker.options.driver_api ? cuMemsetD8Async(worker.memory, 0, kBytes, worker.stream)
                                    : mock::runtime_fill(worker.memory, kBytes, worker.stream));
    worker.transferred("fill", fill_ns(kBytes));
    CHECK(worker.options.driver_api
              ? cuMemcpyDtoHAsync(worker.host.data(), worker.memory, kBytes, worker.stream)
              : mock::runtime_copy_to_host(worker.host.data(), worker.memory, kBytes, worker.stream));
    worker.transferred("copy_dtoh", copy_ns(kBytes));
  }
}

}  // namespace

bool may_end(const Options& options) {
  return options.until == nullptr || access(options.until, F_OK) == 0;
}

// Launches from the three sites in rounds. With pauses between rounds, `--until` can end them early.
void three_sites(Worker& worker) {
  for (int i = 0; i < worker.options.launches; ++i) {
    assemble(worker);
    solve(worker);
    postprocess(worker);
    if (worker.options.gap_us > 0) {
      if (worker.options.until != nullptr && may_end(worker.options)) {
        return;
      }
      usleep(static_cast<useconds_t>(worker.options.gap_us));
    }
  }
}

__attribute__((noinline)) void many_streams(Worker& worker) {
  std::vector<CUstream> streams(static_cast<size_t>(worker.options.streams));
  for (CUstream& stream : streams) {
    CHECK(cuStreamCreate(&stream, 0));
  }
  for (int i = 0; i < worker.options.per_stream; ++i) {
    for (CUstream stream : streams) {
      CHECK(cuLaunchKernel(worker.dear, 1, 1, 1, 32, 1, 1, 0, stream, nullptr, nullptr));
      worker.transferred(kDear, kDearNs, 0);
    }
  }
  CHECK(cuCtxSynchronize());
  worker.totals.add_host("sync", 1, 0);
}

__attribute__((noinline)) void wait_often(Worker& worker) {
  CUevent event = nullptr;
  CHECK(cuEventCreate(&event, 0));
  for (int i = 0; i < worker.options.syncs; ++i) {
    worker.launch(worker.dear, kDear, kDearNs);
    CHECK(cuEventRecord(event, worker.stream));
    CHECK(cuEventSynchronize(event));
    CHECK(cuCtxSynchronize());
    worker.totals.add_host("sync", 2, 0);
    worker.synchronize();
  }
}

__attribute__((noinline)) void allocate_often(Worker& worker) {
  constexpr size_t kSizes[] = {1 << 20, 2 << 20, 1 << 16, 3 << 20};
  for (int i = 0; i < worker.options.allocs; ++i) {
    CUdeviceptr plain = 0;
    CUdeviceptr ordered = 0;
    CUdeviceptr managed = 0;
    void* pinned = nullptr;
    CHECK(cuMemAlloc(&plain, kSizes[0]));
    CHECK(cuMemAllocAsync(&ordered, kSizes[1], worker.stream));
    CHECK(cuMemHostAlloc(&pinned, kSizes[2], 0));
    CHECK(cuMemAllocManaged(&managed, kSizes[3], CU_MEM_ATTACH_GLOBAL));
    CHECK(cuMemFree(plain));
    CHECK(cuMemFreeAsync(ordered, worker.stream));
    CHECK(cuMemFreeHost(pinned));
    CHECK(cuMemFree(managed));
    for (const size_t bytes : kSizes) {
      worker.totals.add_host("alloc", 1, bytes);
      worker.totals.add_host("free", 1, bytes);
    }
  }
}

__attribute__((noinline)) void touch_managed(Worker& worker) {
  CUdeviceptr managed = 0;
  CHECK(cuMemAllocManaged(&managed, kBytes, CU_MEM_ATTACH_GLOBAL));
  worker.totals.add_host("alloc", 1, kBytes);
  for (int i = 0; i < worker.options.managed; ++i) {
    CHECK(mock_cuda_page_fault(managed, kBytes, true));
    CHECK(mock_cuda_page_fault(managed, kBytes, false));
    worker.totals.add_host("fault_gpu", 3, 0);
    worker.totals.add_host("migrate_htod", 1, kBytes);
    worker.totals.add_host("fault_cpu", 1, 0);
    worker.totals.add_host("migrate_dtoh", 1, kBytes);
  }
  CUmemLocation device = {CU_MEM_LOCATION_TYPE_DEVICE, worker.device};
  CHECK(cuMemPrefetchAsync(managed, kBytes, device, 0, worker.stream));
  worker.totals.add_host("migrate_htod", 1, kBytes);
}

namespace {

void call_back(void* data) {
  ++*static_cast<int*>(data);
}

void copy_batch(Worker& worker) {
  constexpr size_t kCopies = 3;
  CUdeviceptr to[kCopies] = {worker.memory, worker.memory, worker.memory};
  CUdeviceptr from[kCopies] = {worker.memory, worker.memory, worker.memory};
  size_t sizes[kCopies] = {64, 128, 256};
  CUmemcpyAttributes attributes = {};
  size_t first = 0;
  CHECK(cuMemcpyBatchAsync(to, from, sizes, kCopies, &attributes, &first, 1, worker.stream));
  ++worker.totals.launches;
  for (const size_t bytes : sizes) {
    worker.totals.add("copy_dtod", copy_ns(bytes), bytes);
  }
}

}  // namespace

__attribute__((noinline)) void launch_variants(Worker& worker) {
  CUlaunchConfig config = {};
  config.blockDimX = 32;
  config.hStream = worker.stream;
  int called = 0;
  for (int i = 0; i < worker.options.variants; ++i) {
    CHECK(cuLaunchKernelEx(&config, worker.cheap, nullptr, nullptr));
    CHECK(cuLaunchCooperativeKernel(worker.cheap, 1, 1, 1, 32, 1, 1, 0, worker.stream, nullptr));
    CHECK(mock_cuda_launch_per_thread(worker.cheap, worker.stream));
    for (int launch = 0; launch < 3; ++launch) {
      worker.transferred(kCheap, kCheapNs, 0);
    }
    CHECK(cuMemcpyHtoD(worker.memory, worker.host.data(), kBytes));
    worker.transferred("copy_htod", copy_ns(kBytes));
    copy_batch(worker);
    CHECK(cuMemcpyHtoDAsync(worker.memory, worker.host.data(), 0, worker.stream));  // puts nothing on the GPU
    CHECK(cuLaunchHostFunc(worker.stream, call_back, &called));                     // a host function is not GPU work
  }
}

__attribute__((noinline)) void launch_wrongly(Worker& worker) {
  for (int i = 0; i < worker.options.failures; ++i) {
    if (cuLaunchKernel(worker.cheap, 1, 1, 1, 0, 1, 1, 0, worker.stream, nullptr, nullptr) == CUDA_SUCCESS) {
      fprintf(stderr, "mock_cuda_app: a launch without threads was accepted\n");
      exit(1);
    }
    ++worker.totals.launches;
    ++worker.totals.failed;
  }
}

// Reports how long the loads took by the program's own clock, as "load".
__attribute__((noinline)) void load_modules(Worker& worker) {
  for (int i = 0; i < worker.options.modules; ++i) {
    CUmodule module = nullptr;
    const auto begin = std::chrono::steady_clock::now();
    CHECK(cuModuleLoadData(&module, "_Z6loadedv 1000"));
    const std::chrono::nanoseconds took = std::chrono::steady_clock::now() - begin;
    Count& loads = worker.totals.host["load"];
    ++loads.count;
    loads.ns += static_cast<uint64_t>(took.count());
    CHECK(cuModuleUnload(module));
  }
}

}  // namespace gpuprof::mock_app
