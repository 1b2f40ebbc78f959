// A CUDA program for the mock driver: three call sites, as in examples/cuda/three_sites.cu, and everything else that
// a profiler must see. Prints what it did as one line of JSON: the tests compare a profile with it.
#include <cuda.h>
#include <dlfcn.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "mock_cudart.h"
#include "mock_gpu.h"

namespace {

using gpuprof::mock::copy_ns;
using gpuprof::mock::fill_ns;

constexpr const char* kCheap = "_Z8assemblePfi";
constexpr const char* kDear = "_Z5solvePfi";
constexpr const char* kEndless = "_Z7endlessv";
constexpr uint64_t kCheapNs = 4000;
constexpr uint64_t kDearNs = 16000;
constexpr size_t kBytes = 65536;

struct Options {
  int launches = 100;  // of each site, of each thread
  int threads = 1;
  int graph_launches = 0;
  int sleep_ms = 0;
  int gap_us = 0;  // between rounds of the three sites
  bool driver_api = false;
  bool kernels_only = false;
  bool fork_child = false;
  bool unfinished = false;
  bool hard_exit = false;
  const char* load = nullptr;  // a library to load before CUDA is used
};

struct Count {
  uint64_t count = 0;
  uint64_t ns = 0;
  uint64_t bytes = 0;
};

struct Totals {
  uint64_t launches = 0;
  std::map<std::string, Count> ops;

  void add(const std::string& name, uint64_t ns, uint64_t bytes) {
    Count& op = ops[name];
    ++op.count;
    op.ns += ns;
    op.bytes += bytes;
  }
  void add(const Totals& other) {
    launches += other.launches;
    for (const auto& [name, op] : other.ops) {
      ops[name].count += op.count;
      ops[name].ns += op.ns;
      ops[name].bytes += op.bytes;
    }
  }
};

void check(CUresult result, const char* what) {
  if (result != CUDA_SUCCESS) {
    fprintf(stderr, "mock_cuda_app: %s: error %d\n", what, result);
    exit(1);
  }
}
#define CHECK(call) check(call, #call)

struct Worker {
  const Options& options;
  CUfunction cheap = nullptr;
  CUfunction dear = nullptr;
  CUfunction endless = nullptr;
  CUstream stream = nullptr;
  CUdeviceptr memory = 0;
  std::vector<char> host = std::vector<char>(kBytes);
  Totals totals;

  void launch(CUfunction function, const char* name, uint64_t ns) {
    constexpr int kErrno = 4321;  // the driver leaves it alone, and so must who listens to its calls
    errno = kErrno;
    if (options.driver_api) {
      CHECK(cuLaunchKernel(function, 1, 1, 1, 32, 1, 1, 0, stream, nullptr, nullptr));
    } else {
      CHECK(gpuprof::mock::runtime_launch(function, stream));
    }
    if (errno != kErrno) {
      fprintf(stderr, "mock_cuda_app: a launch changed errno to %d\n", errno);
      exit(1);
    }
    ++totals.launches;
    totals.add(name, ns, 0);
  }

  void transferred(const char* name, uint64_t ns) {
    ++totals.launches;
    totals.add(name, ns, kBytes);
  }
};

__attribute__((noinline)) void assemble(Worker& worker) {
  if (!worker.options.kernels_only) {
    CHECK(worker.options.driver_api
              ? cuMemcpyHtoDAsync(worker.memory, worker.host.data(), kBytes, worker.stream)
              : gpuprof::mock::runtime_copy_to_device(worker.memory, worker.host.data(), kBytes, worker.stream));
    worker.transferred("copy_htod", copy_ns(kBytes));
  }
  worker.launch(worker.cheap, kCheap, kCheapNs);
}

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
                                    : gpuprof::mock::runtime_fill(worker.memory, kBytes, worker.stream));
    worker.transferred("fill", fill_ns(kBytes));
    CHECK(worker.options.driver_api
              ? cuMemcpyDtoHAsync(worker.host.data(), worker.memory, kBytes, worker.stream)
              : gpuprof::mock::runtime_copy_to_host(worker.host.data(), worker.memory, kBytes, worker.stream));
    worker.transferred("copy_dtoh", copy_ns(kBytes));
  }
}

__attribute__((noinline)) void replay(Worker& worker, CUgraphExec exec) {
  CHECK(worker.options.driver_api ? cuGraphLaunch(exec, worker.stream)
                                  : gpuprof::mock::runtime_graph_launch(exec, worker.stream));
  ++worker.totals.launches;
  worker.totals.add(kCheap, kCheapNs, 0);
  worker.totals.add(kDear, kDearNs, 0);
}

CUgraphExec make_graph(const Worker& worker) {
  CUgraph graph = nullptr;
  CUgraphExec exec = nullptr;
  CHECK(cuGraphCreate(&graph, 0));
  for (CUfunction function : {worker.cheap, worker.dear}) {
    CUgraphNode node = nullptr;
    CUDA_KERNEL_NODE_PARAMS parameters = {};
    parameters.func = function;
    CHECK(cuGraphAddKernelNode(&node, graph, nullptr, 0, &parameters));
  }
  CHECK(cuGraphInstantiateWithFlags(&exec, graph, 0));
  return exec;
}

// A worker of its own device and stream.
void work(Worker& worker, int index) {
  const std::string image = std::string(kCheap) + " " + std::to_string(kCheapNs) + "\n" + kDear + " " +
                            std::to_string(kDearNs) + "\n" + kEndless + " 3600000000000\n";
  CUdevice device = 0;
  CUcontext context = nullptr;
  CUmodule module = nullptr;
  CHECK(cuDeviceGet(&device, index % gpuprof::mock::kDevices));
  CHECK(cuDevicePrimaryCtxRetain(&context, device));
  CHECK(cuCtxSetCurrent(context));
  CHECK(cuStreamCreate(&worker.stream, 0));
  CHECK(cuModuleLoadData(&module, image.c_str()));
  CHECK(cuModuleGetFunction(&worker.cheap, module, kCheap));
  CHECK(cuModuleGetFunction(&worker.dear, module, kDear));
  CHECK(cuModuleGetFunction(&worker.endless, module, kEndless));
  CHECK(cuMemAlloc(&worker.memory, 2 * kBytes));
  for (int i = 0; i < worker.options.launches; ++i) {
    assemble(worker);
    solve(worker);
    postprocess(worker);
    if (worker.options.gap_us > 0) {
      usleep(static_cast<useconds_t>(worker.options.gap_us));
    }
  }
  if (worker.options.graph_launches > 0) {
    CUgraphExec exec = make_graph(worker);
    for (int i = 0; i < worker.options.graph_launches; ++i) {
      replay(worker, exec);
    }
  }
  CHECK(cuStreamSynchronize(worker.stream));
}

// The child of a process that uses CUDA can not use it; it must neither crash nor be counted, nor wait at its end for
// threads that only the parent has. The system call runs no fork handlers.
void try_in_child(bool by_system_call) {
  const auto begin = std::chrono::steady_clock::now();
  const pid_t child = by_system_call ? static_cast<pid_t>(syscall(SYS_fork)) : fork();
  if (child == 0) {
    const bool refused = cuInit(0) != CUDA_SUCCESS && cuCtxSynchronize() != CUDA_SUCCESS;
    exit(refused ? 0 : 1);
  }
  int status = 0;
  if (child < 0 || waitpid(child, &status, 0) != child || status != 0) {
    fprintf(stderr, "mock_cuda_app: the forked child ended with status %d\n", status);
    exit(1);
  }
  if (std::chrono::steady_clock::now() - begin > std::chrono::milliseconds(1500)) {
    fprintf(stderr, "mock_cuda_app: the forked child took its time to end\n");
    exit(1);
  }
}

void print(const Totals& totals, int unfinished) {
  uint64_t ops = 0;
  uint64_t ns = 0;
  printf("{\"pid\": %d, \"ops\": {", getpid());
  const char* separator = "";
  for (const auto& [name, op] : totals.ops) {
    printf("%s\"%s\": {\"count\": %lu, \"ns\": %lu, \"bytes\": %lu}", separator, name.c_str(), op.count, op.ns,
           op.bytes);
    separator = ", ";
    ops += op.count;
    ns += op.ns;
  }
  printf("}, \"total_ops\": %lu, \"total_ns\": %lu, \"launches\": %lu, \"unfinished\": %d}\n", ops, ns, totals.launches,
         unfinished);
  fflush(stdout);
}

bool take_number(const char* name, int argc, char** argv, int* index, int* number) {
  if (strcmp(argv[*index], name) != 0 || *index + 1 >= argc) {
    return false;
  }
  *number = atoi(argv[++*index]);
  return true;
}

bool take_text(const char* name, int argc, char** argv, int* index, const char** text) {
  if (strcmp(argv[*index], name) != 0 || *index + 1 >= argc) {
    return false;
  }
  *text = argv[++*index];
  return true;
}

bool take_flag(const char* name, const char* argument, bool* flag) {
  *flag = *flag || strcmp(argument, name) == 0;
  return strcmp(argument, name) == 0;
}

Options parse(int argc, char** argv) {
  Options o;
  for (int i = 1; i < argc; ++i) {
    if (!take_number("--launches", argc, argv, &i, &o.launches) &&
        !take_number("--threads", argc, argv, &i, &o.threads) &&
        !take_number("--graph", argc, argv, &i, &o.graph_launches) &&
        !take_number("--gap-us", argc, argv, &i, &o.gap_us) &&
        !take_number("--sleep-ms", argc, argv, &i, &o.sleep_ms) && !take_text("--load", argc, argv, &i, &o.load) &&
        !take_flag("--driver-api", argv[i], &o.driver_api) && !take_flag("--kernels-only", argv[i], &o.kernels_only) &&
        !take_flag("--fork", argv[i], &o.fork_child) && !take_flag("--unfinished", argv[i], &o.unfinished) &&
        !take_flag("--hard-exit", argv[i], &o.hard_exit)) {
      fprintf(stderr,
              "usage: mock_cuda_app [--launches N] [--threads N] [--graph N] [--sleep-ms N] [--gap-us N]\n"
              "                     [--load LIBRARY] [--driver-api] [--kernels-only] [--fork] [--unfinished] "
              "[--hard-exit]\n");
      exit(2);
    }
  }
  return o;
}

}  // namespace

int main(int argc, char** argv) {
  const Options options = parse(argc, argv);
  if (options.load != nullptr && dlopen(options.load, RTLD_NOW) == nullptr) {
    fprintf(stderr, "mock_cuda_app: %s\n", dlerror());
    return 1;
  }
  CHECK(cuInit(0));
  std::vector<Worker> workers(static_cast<size_t>(options.threads), Worker{options});
  std::vector<std::thread> threads;
  for (int i = 1; i < options.threads; ++i) {
    threads.emplace_back(work, std::ref(workers[static_cast<size_t>(i)]), i);
  }
  work(workers[0], 0);
  for (std::thread& thread : threads) {
    thread.join();
  }
  if (options.fork_child) {
    try_in_child(false);
    try_in_child(true);
    assemble(workers[0]);
    CHECK(cuCtxSynchronize());
  }
  Totals totals;
  for (const Worker& worker : workers) {
    totals.add(worker.totals);
  }
  if (options.unfinished) {
    CHECK(cuLaunchKernel(workers[0].endless, 1, 1, 1, 32, 1, 1, 0, workers[0].stream, nullptr, nullptr));
    ++totals.launches;
  }
  print(totals, options.unfinished ? 1 : 0);
  usleep(static_cast<useconds_t>(options.sleep_ms) * 1000);
  if (options.hard_exit) {
    _exit(7);
  }
  return 0;
}
