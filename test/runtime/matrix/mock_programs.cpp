// The known-answer programs of examples/cuda for the mock driver: the same functions and the same lines "expect
// KEY=VALUE".
//   mock_programs graphs NODES ADDED REPLAYS [FILE]      (begins the replays once FILE exists)
//   mock_programs streams STREAMS KERNELS DEVICES
//   mock_programs variants LAUNCHES
//   mock_programs modules ROUNDS
//   mock_programs conditional ROUNDS
//   mock_programs device_launches LAUNCHES
#include <cuda.h>
#include <nvtx3/nvToolsExt.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "conditional.h"
#include "expect.h"
#include "mock_gpu.h"
#include "modules.h"

namespace {

constexpr size_t kBytes = 1 << 16;
constexpr int kAllocations = 5;
constexpr int kWaits = 4;
constexpr int kCopies = 3;
constexpr int kRanges = 7;

void check(CUresult result, const char* what) {
  if (result != CUDA_SUCCESS) {
    std::fprintf(stderr, "mock_programs: %s: error %d\n", what, static_cast<int>(result));
    std::exit(1);
  }
}
#define CHECK(call) check(call, #call)

struct Device {
  CUcontext context = nullptr;
  CUmodule module = nullptr;
  CUdeviceptr memory = 0;
  std::vector<CUstream> streams;

  CUfunction function(const char* name) const {
    CUfunction found = nullptr;
    CHECK(cuModuleGetFunction(&found, module, name));
    return found;
  }
};

Device set_up(int index, long streams) {
  Device device;
  CUdevice handle = 0;
  CHECK(cuDeviceGet(&handle, index));
  CHECK(cuDevicePrimaryCtxRetain(&device.context, handle));
  CHECK(cuCtxSetCurrent(device.context));
  CHECK(cuModuleLoadData(&device.module,
                         "_Z8capturedPf 3000\n_Z5addedPf 5000\n_Z7updatedPf 7000\n_Z4spinPfl 20000\n_Z4tinyPf 1000\n"));
  CHECK(cuMemAlloc(&device.memory, 2 * kBytes));
  for (long i = 0; i < streams; ++i) {
    CUstream stream = nullptr;
    CHECK(cuStreamCreate(&stream, 0));
    device.streams.push_back(stream);
  }
  return device;
}

void launch(CUfunction function, CUstream stream) {
  CHECK(cuLaunchKernel(function, 1, 1, 1, 32, 1, 1, 0, stream, nullptr, nullptr));
}

// ---- graphs ----

CUgraph captured_graph(CUstream stream, CUfunction function, long nodes) {
  CUgraph graph = nullptr;
  CHECK(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
  for (long i = 0; i < nodes; ++i) {
    launch(function, stream);
  }
  CHECK(cuStreamEndCapture(stream, &graph));
  return graph;
}

__attribute__((noinline)) CUgraph capture_nodes(const Device& device, long nodes) {
  CUgraph graph = captured_graph(device.streams[0], device.function("_Z8capturedPf"), nodes);
  asm volatile("");  // keeps this function's frame on the stack
  return graph;
}

__attribute__((noinline)) CUgraph capture_again(const Device& device, long nodes) {
  CUgraph graph = captured_graph(device.streams[0], device.function("_Z7updatedPf"), nodes);
  asm volatile("");
  return graph;
}

__attribute__((noinline)) void add_nodes(const Device& device, CUgraph graph, long nodes) {
  CUDA_KERNEL_NODE_PARAMS kernel = {};
  kernel.func = device.function("_Z5addedPf");
  for (long i = 0; i < nodes; ++i) {
    CUgraphNode node = nullptr;
    CHECK(cuGraphAddKernelNode(&node, graph, nullptr, 0, &kernel));
  }
}

__attribute__((noinline)) void replay_first(CUgraphExec exec, CUstream stream, long replays) {
  for (long i = 0; i < replays; ++i) {
    CHECK(cuGraphLaunch(exec, stream));
  }
}

__attribute__((noinline)) void replay_second(CUgraphExec exec, CUstream stream, long replays) {
  for (long i = 0; i < replays; ++i) {
    CHECK(cuGraphLaunch(exec, stream));
  }
  CHECK(cuStreamSynchronize(stream));
}

__attribute__((noinline)) void replay_updated(CUgraphExec exec, CUstream stream, long replays) {
  for (long i = 0; i < replays; ++i) {
    CHECK(cuGraphLaunch(exec, stream));
  }
  CHECK(cuStreamSynchronize(stream));
}

void expect_graphs(long nodes, long added, long replays) {
  expect("captured_launches", 2 * nodes);
  expect("graph_launches", 3 * replays);
  expect("launches", 2 * nodes + 3 * replays);
  expect("records", 3 * replays * (nodes + added));
  expect("kernel.captured", 2 * replays * nodes);
  expect("kernel.updated", replays * nodes);
  expect("kernel.added", 3 * replays * added);
  expect("site.replay_first", replays * (nodes + added));
  expect("site.replay_second", replays * (nodes + added));
  expect("site.replay_updated", replays * (nodes + added));
}

void graphs(long nodes, long added, long replays, const char* go) {
  const Device device = set_up(0, 1);
  CUstream stream = device.streams[0];
  CUgraph graph = capture_nodes(device, nodes);
  add_nodes(device, graph, added);
  CUgraph clone = nullptr;
  CUgraphExec first = nullptr;
  CUgraphExec second = nullptr;
  CHECK(cuGraphClone(&clone, graph));
  CHECK(cuGraphInstantiateWithFlags(&first, clone, 0));
  CHECK(cuGraphInstantiateWithFlags(&second, clone, 0));
  CHECK(cuGraphDestroy(graph));
  std::printf("replaying\n");
  std::fflush(stdout);
  while (go != nullptr && access(go, F_OK) != 0) {
    usleep(5000);
  }

  std::thread([&] {
    CHECK(cuCtxSetCurrent(device.context));
    replay_first(first, stream, replays);
    replay_second(second, stream, replays);
  }).join();
  CUgraph other = capture_again(device, nodes);
  add_nodes(device, other, added);
  CUgraphExecUpdateResultInfo info = {};
  CHECK(cuGraphExecUpdate(first, other, &info));
  std::thread([&] {
    CHECK(cuCtxSetCurrent(device.context));
    replay_updated(first, stream, replays);
  }).join();
  expect_graphs(nodes, added, replays);
}

// ---- streams ----

__attribute__((noinline)) void launch_on_streams(const Device& device, long kernels) {
  CUfunction spin = device.function("_Z4spinPfl");
  for (long i = 0; i < kernels; ++i) {
    for (CUstream stream : device.streams) {
      launch(spin, stream);
    }
  }
}

__attribute__((noinline)) void copy_each_way(const Device& device) {
  std::vector<char> host(kBytes);
  for (int i = 0; i < kCopies; ++i) {
    CHECK(cuMemcpyHtoDAsync(device.memory, host.data(), kBytes, nullptr));
    CHECK(cuMemcpyDtoDAsync(device.memory + kBytes, device.memory, kBytes, nullptr));
    CHECK(cuMemcpyDtoHAsync(host.data(), device.memory, kBytes, nullptr));
    CHECK(cuMemsetD8Async(device.memory, 0, kBytes, nullptr));
  }
}

__attribute__((noinline)) void copy_to_peer(const Device& from, const Device& to) {
  CHECK(cuCtxSetCurrent(from.context));
  for (int i = 0; i < kCopies; ++i) {
    CHECK(cuMemcpyPeerAsync(to.memory, to.context, from.memory, from.context, kBytes, nullptr));
  }
}

__attribute__((noinline)) void allocate_and_free() {
  for (int i = 1; i <= kAllocations; ++i) {
    CUdeviceptr memory = 0;
    CHECK(cuMemAlloc(&memory, static_cast<size_t>(i) << 20));
    CHECK(cuMemFree(memory));
  }
}

__attribute__((noinline)) void wait_in_each_way(CUstream stream) {
  CUevent event = nullptr;
  CHECK(cuEventCreate(&event, 0));
  for (int i = 0; i < kWaits; ++i) {
    CHECK(cuEventRecord(event, stream));
    CHECK(cuEventSynchronize(event));
    CHECK(cuStreamSynchronize(stream));
    CHECK(cuCtxSynchronize());
  }
}

void launch_in_range(CUfunction function, long kernels) {
  for (long i = 0; i < kernels; ++i) {
    launch(function, nullptr);
  }
}

__attribute__((noinline)) void work_in_ranges(const Device& device) {
  const nvtxDomainHandle_t domain = nvtxDomainCreateA("solver");
  nvtxEventAttributes_t attributes = {};
  attributes.version = NVTX_VERSION;
  attributes.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
  attributes.messageType = NVTX_MESSAGE_TYPE_REGISTERED;
  attributes.message.registered = nvtxDomainRegisterStringA(domain, "assemble");
  CUfunction spin = device.function("_Z4spinPfl");
  for (int i = 0; i < kRanges; ++i) {
    nvtxRangePushA("step");
    launch_in_range(spin, 1);
    nvtxRangePushA("inner");
    launch_in_range(spin, 2);
    nvtxRangePop();
    nvtxRangePop();
    const nvtxRangeId_t span = nvtxRangeStartA("span");
    launch_in_range(spin, 3);
    nvtxRangeEnd(span);
    nvtxDomainRangePushEx(domain, &attributes);
    launch_in_range(spin, 4);
    nvtxDomainRangePop(domain);
  }
}

void expect_streams(long streams, long kernels, long devices) {
  expect("devices", devices);
  expect("streams", devices * streams);
  expect("site.launch_on_streams", devices * streams * kernels);
  expect("kernel.spin", devices * streams * kernels + 10 * kRanges);
  expect("op.copy_htod", devices * kCopies);
  expect("op.copy_dtod", devices * kCopies);
  expect("op.copy_dtoh", devices * kCopies);
  expect("op.fill", devices * kCopies);
  expect("op.copy_ptop", devices > 1 ? 2 * kCopies : 0);
  expect("copy_bytes", kBytes);
  expect("site.allocate_and_free.alloc", devices * kAllocations);
  expect("site.allocate_and_free.free", devices * kAllocations);
  expect("site.allocate_and_free.bytes", (devices * (kAllocations * (kAllocations + 1) / 2)) << 20);
  expect("site.wait_in_each_way.sync", devices * 3 * kWaits);
  expect("managed", 0);
  expect("nvtx.step", kRanges);
  expect("nvtx.step;inner", 2 * kRanges);
  expect("nvtx.span", 3 * kRanges);
  expect("nvtx.solver:assemble", 4 * kRanges);
}

void streams(long count, long kernels, long number_of_devices) {
  std::vector<Device> devices;
  std::vector<std::thread> threads;
  devices.reserve(static_cast<size_t>(number_of_devices));
  threads.reserve(static_cast<size_t>(number_of_devices));
  for (int i = 0; i < number_of_devices; ++i) {
    devices.push_back(set_up(i, count));
  }
  for (const Device& device : devices) {
    threads.emplace_back([&] {
      CHECK(cuCtxSetCurrent(device.context));
      launch_on_streams(device, kernels);
      copy_each_way(device);
      allocate_and_free();
      wait_in_each_way(device.streams.front());
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  CHECK(cuCtxSetCurrent(devices[0].context));
  work_in_ranges(devices[0]);
  CHECK(cuCtxSynchronize());
  if (number_of_devices > 1) {
    copy_to_peer(devices[0], devices[1]);
    copy_to_peer(devices[1], devices[0]);
    CHECK(cuCtxSynchronize());
  }
  expect_streams(count, kernels, number_of_devices);
}

// ---- variants ----

__attribute__((noinline)) void launch_driver(CUfunction function, long launches) {
  for (long i = 0; i < launches; ++i) {
    launch(function, nullptr);
  }
}

__attribute__((noinline)) void launch_driver_ex(CUfunction function, long launches) {
  CUlaunchConfig config = {};
  config.gridDimX = config.gridDimY = config.gridDimZ = 1;
  config.blockDimX = 32;
  config.blockDimY = config.blockDimZ = 1;
  for (long i = 0; i < launches; ++i) {
    CHECK(cuLaunchKernelEx(&config, function, nullptr, nullptr));
  }
}

__attribute__((noinline)) void launch_driver_cooperative(CUfunction function, long launches) {
  for (long i = 0; i < launches; ++i) {
    CHECK(cuLaunchCooperativeKernel(function, 1, 1, 1, 32, 1, 1, 0, nullptr, nullptr));
  }
}

__attribute__((noinline)) void per_thread_driver(CUfunction function, long launches) {
  for (long i = 0; i < launches; ++i) {
    CHECK(mock_cuda_launch_per_thread(function, nullptr));
  }
}

__attribute__((noinline)) void launch_refused(CUfunction function, long launches) {
  for (long i = 0; i < launches; ++i) {
    if (cuLaunchKernel(function, 1, 1, 1, 0, 1, 1, 0, nullptr, nullptr, nullptr) == CUDA_SUCCESS) {
      std::exit(1);
    }
  }
}

void variants(long launches) {
  const Device device = set_up(0, 0);
  CUfunction tiny = device.function("_Z4tinyPf");
  launch_driver(tiny, launches);
  launch_driver_ex(tiny, launches);
  launch_driver_cooperative(tiny, launches);
  per_thread_driver(tiny, launches);
  launch_refused(tiny, launches);
  CHECK(cuCtxSynchronize());
  for (const char* site : {"launch_driver", "launch_driver_ex", "launch_driver_cooperative", "per_thread_driver"}) {
    expect(("site." + std::string(site)).c_str(), launches);
  }
  expect("records", 4 * launches);
  expect("failed_launches", launches);
  expect("site.launch_refused", 0);
}

// ---- modules ----

void modules(long rounds) {
  const Device device = set_up(0, 1);
  churn::run(rounds, device.streams[0], [](const std::string& name) { return name + " 2000\n"; });
}

// ---- conditional ----

CUgraph* add_condition(CUgraph graph, CUgraphConditionalNodeType type, unsigned size, unsigned value,
                       CUgraphConditionalHandle* handle) {
  CHECK(cuGraphConditionalHandleCreate(handle, graph, nullptr, value, 0));
  CUgraphNodeParams params = {};
  params.type = CU_GRAPH_NODE_TYPE_CONDITIONAL;
  params.conditional.handle = *handle;
  params.conditional.type = type;
  params.conditional.size = size;
  CUgraphNode node = nullptr;
  CHECK(cuGraphAddNode(&node, graph, nullptr, nullptr, 0, &params));
  return params.conditional.phGraph_out;
}

void add_kernel(CUgraph graph, CUfunction function) {
  CUDA_KERNEL_NODE_PARAMS kernel = {};
  kernel.func = function;
  CUgraphNode node = nullptr;
  CHECK(cuGraphAddKernelNode(&node, graph, nullptr, 0, &kernel));
}

struct Loop {
  CUgraphExec exec = nullptr;
  CUgraphConditionalHandle trips = 0;
};

Loop make_loop(CUfunction before, CUfunction body) {
  Loop loop;
  CUgraph graph = nullptr;
  CHECK(cuGraphCreate(&graph, 0));
  if (before != nullptr) {
    add_kernel(graph, before);
  }
  add_kernel(add_condition(graph, CU_GRAPH_COND_TYPE_WHILE, 1, 1, &loop.trips)[0], body);
  CHECK(cuGraphInstantiateWithFlags(&loop.exec, graph, 0));
  return loop;
}

CUgraphExec make_choice(CUgraphConditionalNodeType type, unsigned value, const std::vector<CUfunction>& kernels) {
  CUgraph graph = nullptr;
  CUgraphExec exec = nullptr;
  CUgraphConditionalHandle handle = 0;
  CHECK(cuGraphCreate(&graph, 0));
  CUgraph* bodies = add_condition(graph, type, static_cast<unsigned>(kernels.size()), value, &handle);
  for (size_t i = 0; i < kernels.size(); ++i) {
    add_kernel(bodies[i], kernels[i]);
  }
  CHECK(cuGraphInstantiateWithFlags(&exec, graph, 0));
  return exec;
}

void launch_loops(const Device& device, const std::vector<Loop>& loops, unsigned trips) {
  for (const Loop& loop : loops) {
    mock_cuda_set_condition(loop.trips, trips);
    CHECK(cuMemcpyHtoDAsync(device.memory, &trips, sizeof(trips), device.streams[0]));
    CHECK(cuGraphLaunch(loop.exec, device.streams[0]));
  }
}

__attribute__((noinline)) void loop_few(const Device& device, const std::vector<Loop>& loops) {
  launch_loops(device, loops, conditional::kFewTrips);
  asm volatile("");
}

__attribute__((noinline)) void loop_many(const Device& device, const std::vector<Loop>& loops) {
  launch_loops(device, loops, conditional::kManyTrips);
  asm volatile("");
}

__attribute__((noinline)) void choose_here(CUgraphExec exec, CUstream stream) {
  CHECK(cuGraphLaunch(exec, stream));
  CHECK(cuStreamSynchronize(stream));
}

__attribute__((noinline)) void choose_there(CUgraphExec exec, CUstream stream) {
  CHECK(cuGraphLaunch(exec, stream));
  CHECK(cuStreamSynchronize(stream));
}

__attribute__((noinline)) void switch_to_second(CUgraphExec exec, CUstream stream) {
  CHECK(cuGraphLaunch(exec, stream));
  asm volatile("");
}

void conditional_nodes(long rounds) {
  Device device = set_up(0, 1);
  CHECK(cuModuleLoadData(&device.module,
                         "_Z6beforePi 4000\n_Z6loopedPi 15000\n_Z6chosenPi 5000\n_Z10first_casePi 5000\n"
                         "_Z11second_casePi 6000\n"));
  CUfunction looped = device.function("_Z6loopedPi");
  const std::vector<Loop> loops = {make_loop(nullptr, looped), make_loop(device.function("_Z6beforePi"), looped)};
  for (long i = 0; i < rounds; ++i) {
    loop_few(device, loops);
    loop_many(device, loops);
  }
  CHECK(cuStreamSynchronize(device.streams[0]));
  CUgraphExec choice = make_choice(CU_GRAPH_COND_TYPE_IF, 1, {device.function("_Z6chosenPi")});
  CUgraphExec switched = make_choice(CU_GRAPH_COND_TYPE_SWITCH, 1,
                                     {device.function("_Z10first_casePi"), device.function("_Z11second_casePi")});
  for (long i = 0; i < rounds; ++i) {
    choose_here(choice, device.streams[0]);
    choose_there(choice, device.streams[0]);
    switch_to_second(switched, device.streams[0]);
  }
  CHECK(cuStreamSynchronize(device.streams[0]));
  conditional::expect_all(rounds);
}

// ---- device launches ----

void device_launches(long launches) {
  Device device = set_up(0, 0);
  CHECK(cuModuleLoadData(&device.module, "_Z6parentPi 30000\n__cudaCDP2LaunchDeviceV2 0\n"));
  for (long i = 0; i < launches; ++i) {
    launch(device.function("_Z6parentPi"), nullptr);
  }
  CHECK(cuCtxSynchronize());
  expect("kernel.parent", launches);
  expect("records", launches);
}

}  // namespace

int main(int argc, char** argv) {
  const std::string mode = argc > 1 ? argv[1] : "";
  const auto number = [&](int index) { return index < argc ? std::strtol(argv[index], nullptr, 10) : 0; };
  CHECK(cuInit(0));
  if (mode == "graphs") {
    graphs(number(2), number(3), number(4), argc > 5 ? argv[5] : nullptr);
  } else if (mode == "streams") {
    streams(number(2), number(3), number(4));
  } else if (mode == "variants") {
    variants(number(2));
  } else if (mode == "modules") {
    modules(number(2));
  } else if (mode == "conditional") {
    conditional_nodes(number(2));
  } else if (mode == "device_launches") {
    device_launches(number(2));
  } else {
    std::fprintf(stderr, "usage: mock_programs MODE NUMBERS\n");
    return 2;
  }
  return 0;
}
