// Streams, devices and all work that is not a kernel, with a known result. S streams on each of D devices get K
// kernels each, with one thread per device. Also copies in each direction, fills, allocations and frees of known
// sizes, blocking calls, managed memory, and NVTX ranges of every kind with a known number of kernels inside.
//
//   example_cuda_streams [--streams S] [--kernels K] [--devices D] [--spin NS] [--loops L]
//
// A kernel runs for about NS nanoseconds of the device's clock. The program repeats everything L times.
#include <nvtx3/nvToolsExt.h>

#include <algorithm>
#include <string>
#include <thread>
#include <vector>

#include "expect.h"
#include "setup.h"

__global__ void spin(float* data, long ns) {
  long long begin = 0;
  long long now = 0;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(begin));
  do {
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
  } while (now - begin < ns);
  data[threadIdx.x] = static_cast<float>(now - begin);
}

__global__ void touch(float* data, int count) {
  for (int i = static_cast<int>(threadIdx.x); i < count; i += static_cast<int>(blockDim.x)) {
    data[i] += 1.0f;
  }
}

namespace {

constexpr int kThreads = 32;
constexpr size_t kBytes = 1 << 16;
constexpr int kAllocations = 5;
constexpr int kWaits = 4;
constexpr int kCopies = 3;
constexpr int kRanges = 7;

struct Shape {
  long streams;
  long kernels;
  long devices;
  long spin_ns;
  long loops;
};

__attribute__((noinline)) void launch_on_streams(const std::vector<cudaStream_t>& streams, float* data,
                                                 const Shape& shape) {
  for (long i = 0; i < shape.kernels; ++i) {
    for (cudaStream_t stream : streams) {
      spin<<<1, kThreads, 0, stream>>>(data, shape.spin_ns);
    }
  }
  check(cudaGetLastError(), "launch_on_streams");
}

__attribute__((noinline)) void copy_each_way(float* data, float* host) {
  float* other = data + kBytes / sizeof(float);
  for (int i = 0; i < kCopies; ++i) {
    check(cudaMemcpyAsync(data, host, kBytes, cudaMemcpyHostToDevice), "copy to the device");
    check(cudaMemcpyAsync(other, data, kBytes, cudaMemcpyDeviceToDevice), "copy on the device");
    check(cudaMemcpyAsync(host, data, kBytes, cudaMemcpyDeviceToHost), "copy to the host");
    check(cudaMemsetAsync(other, 0, kBytes), "fill");
  }
}

__attribute__((noinline)) void copy_to_peer(float* mine, int device, float* peers, int peer) {
  for (int i = 0; i < kCopies; ++i) {
    check(cudaMemcpyPeerAsync(peers, peer, mine, device, kBytes), "cudaMemcpyPeerAsync");
  }
}

__attribute__((noinline)) void allocate_and_free() {
  for (int i = 1; i <= kAllocations; ++i) {
    void* memory = nullptr;
    check(cudaMalloc(&memory, static_cast<size_t>(i) << 20), "cudaMalloc");
    check(cudaFree(memory), "cudaFree");
  }
}

__attribute__((noinline)) void wait_in_each_way(cudaStream_t stream) {
  cudaEvent_t event = nullptr;
  check(cudaEventCreate(&event), "cudaEventCreate");
  for (int i = 0; i < kWaits; ++i) {
    check(cudaEventRecord(event, stream), "cudaEventRecord");
    check(cudaEventSynchronize(event), "cudaEventSynchronize");
    check(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
    check(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
  }
  check(cudaEventDestroy(event), "cudaEventDestroy");
}

// The CPU writes, the GPU adds, and the CPU reads. Each of these steps migrates pages, if the hardware can.
__attribute__((noinline)) float use_managed_memory() {
  constexpr int kCount = 1 << 20;
  float* data = nullptr;
  check(cudaMallocManaged(&data, kCount * sizeof(float)), "cudaMallocManaged");
  for (int i = 0; i < kCount; ++i) {
    data[i] = 1.0f;
  }
  touch<<<1, 256>>>(data, kCount);
  check(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
  const float sum = data[0] + data[kCount - 1];
  check(cudaFree(data), "cudaFree");
  return sum;
}

void launch_in_range(float* data, long kernels) {
  for (long i = 0; i < kernels; ++i) {
    spin<<<1, kThreads>>>(data, 1000);
  }
  check(cudaGetLastError(), "launch_in_range");
}

nvtxEventAttributes_t attributes_of(nvtxStringHandle_t name) {
  nvtxEventAttributes_t attributes = {};
  attributes.version = NVTX_VERSION;
  attributes.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
  attributes.messageType = NVTX_MESSAGE_TYPE_REGISTERED;
  attributes.message.registered = name;
  return attributes;
}

// Runs one kernel in the range "step", two in the range "inner" inside "step", and three in the start/end range "span".
// Runs four in the range "assemble" of `domain`; the name of this range is a registered string.
__attribute__((noinline)) void work_in_ranges(float* data, nvtxDomainHandle_t domain, nvtxStringHandle_t name) {
  const nvtxEventAttributes_t attributes = attributes_of(name);
  for (int i = 0; i < kRanges; ++i) {
    nvtxRangePushA("step");
    launch_in_range(data, 1);
    nvtxRangePushA("inner");
    launch_in_range(data, 2);
    nvtxRangePop();
    nvtxRangePop();
    const nvtxRangeId_t span = nvtxRangeStartA("span");
    launch_in_range(data, 3);
    nvtxRangeEnd(span);
    nvtxDomainRangePushEx(domain, &attributes);
    launch_in_range(data, 4);
    nvtxDomainRangePop(domain);
  }
}

struct PerDevice {
  float* data = nullptr;
  float* host = nullptr;
  std::vector<cudaStream_t> streams;
};

PerDevice set_up(int device, const Shape& shape) {
  PerDevice mine;
  check(cudaSetDevice(device), "cudaSetDevice");
  check(cudaMalloc(&mine.data, 2 * kBytes), "cudaMalloc");
  check(cudaMallocHost(&mine.host, kBytes), "cudaMallocHost");
  for (long i = 0; i < shape.streams; ++i) {
    cudaStream_t stream = nullptr;
    check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "cudaStreamCreateWithFlags");
    mine.streams.push_back(stream);
  }
  return mine;
}

void work_on(int device, PerDevice& mine, const Shape& shape) {
  check(cudaSetDevice(device), "cudaSetDevice");
  for (long i = 0; i < shape.loops; ++i) {
    launch_on_streams(mine.streams, mine.data, shape);
    copy_each_way(mine.data, mine.host);
    allocate_and_free();
    wait_in_each_way(mine.streams.front());
  }
}

enum class Peers { none, direct, staged };

// If two devices cannot access each other's memory, the driver copies through the host, and splits each copy into two.
Peers enable_peers(const Shape& shape) {
  if (shape.devices < 2) {
    return Peers::none;
  }
  for (int device = 0; device < 2; ++device) {
    int reachable = 0;
    check(cudaDeviceCanAccessPeer(&reachable, device, 1 - device), "cudaDeviceCanAccessPeer");
    if (reachable == 0) {
      return Peers::staged;
    }
    check(cudaSetDevice(device), "cudaSetDevice");
    check(cudaDeviceEnablePeerAccess(1 - device, 0), "cudaDeviceEnablePeerAccess");
  }
  return Peers::direct;
}

void print_expectations(const Shape& shape, Peers peers, bool managed) {
  const long times = shape.devices * shape.loops;
  const long in_ranges = shape.loops * kRanges;
  expect("devices", shape.devices);
  expect("streams", shape.devices * shape.streams);
  expect("site.launch_on_streams", times * shape.streams * shape.kernels);
  expect("kernel.spin", times * shape.streams * shape.kernels + 10 * in_ranges);
  const long peer_copies = peers == Peers::none ? 0 : 2 * shape.loops * kCopies;
  const long staged = peers == Peers::staged ? peer_copies : 0;
  expect("op.copy_htod", times * kCopies + staged);
  expect("op.copy_dtod", times * kCopies);
  expect("op.copy_dtoh", times * kCopies + staged);
  expect("op.fill", times * kCopies);
  expect("op.copy_ptop", peer_copies - staged);
  expect("copy_bytes", kBytes);
  expect("site.allocate_and_free.alloc", times * kAllocations);
  expect("site.allocate_and_free.free", times * kAllocations);
  expect("site.allocate_and_free.bytes", (times * (kAllocations * (kAllocations + 1) / 2)) << 20);
  expect("site.wait_in_each_way.sync", times * 3 * kWaits);
  expect("managed", managed ? 1 : 0);
  expect("nvtx.step", in_ranges);
  expect("nvtx.step;inner", 2 * in_ranges);
  expect("nvtx.span", 3 * in_ranges);
  expect("nvtx.solver:assemble", 4 * in_ranges);
}

bool has_managed_memory() {
  int concurrent = 0;
  check(cudaDeviceGetAttribute(&concurrent, cudaDevAttrConcurrentManagedAccess, 0), "cudaDeviceGetAttribute");
  return concurrent != 0;
}

}  // namespace

int main(int argc, char** argv) {
  int count = 0;
  check(cudaGetDeviceCount(&count), "cudaGetDeviceCount");
  const Shape shape = {option(argc, argv, "--streams", 8), option(argc, argv, "--kernels", 50),
                       std::min<long>(option(argc, argv, "--devices", 1), count), option(argc, argv, "--spin", 20000),
                       option(argc, argv, "--loops", 1)};
  std::vector<PerDevice> devices;
  for (int i = 0; i < shape.devices; ++i) {
    devices.push_back(set_up(i, shape));
  }
  std::vector<std::thread> threads;
  for (int i = 0; i < shape.devices; ++i) {
    threads.emplace_back([&, i] { work_on(i, devices[static_cast<size_t>(i)], shape); });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }

  const Peers peers = enable_peers(shape);
  check(cudaSetDevice(0), "cudaSetDevice");
  const nvtxDomainHandle_t domain = nvtxDomainCreateA("solver");
  const nvtxStringHandle_t name = nvtxDomainRegisterStringA(domain, "assemble");
  const bool managed = has_managed_memory();
  for (long i = 0; i < shape.loops; ++i) {
    work_in_ranges(devices[0].data, domain, name);
    if (managed) {
      use_managed_memory();
    }
    if (shape.devices > 1) {
      copy_to_peer(devices[0].data, 0, devices[1].data, 1);
      copy_to_peer(devices[1].data, 1, devices[0].data, 0);
    }
  }
  check(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
  print_expectations(shape, peers, managed);
  return 0;
}
