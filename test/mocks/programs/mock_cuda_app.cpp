// A CUDA program for the mock driver: three call sites, as in examples/cuda/three_sites.cu, and everything else that a
// profiler must see. It prints what it did as one line of JSON, which the tests compare with a profile.
#include <dlfcn.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstring>
#include <functional>
#include <thread>

#include "mock_app.h"

namespace gpuprof::mock_app {
namespace {

void work(Worker& worker, int index) {
  const Options& options = worker.options;
  if (index > 0) {
    pthread_setname_np(pthread_self(), ("worker-" + std::to_string(index)).c_str());
  }
  worker.open(index);
  const std::pair<bool, void (*)(Worker&)> modes[] = {{options.launches > 0, three_sites},
                                                      {options.graph_launches > 0, simple_graph},
                                                      {options.graph_nodes > 0, captured_graph},
                                                      {options.streams > 0, many_streams},
                                                      {options.syncs > 0, wait_often},
                                                      {options.allocs > 0, allocate_often},
                                                      {options.managed > 0, touch_managed},
                                                      {options.variants > 0, launch_variants},
                                                      {options.failures > 0, launch_wrongly},
                                                      {options.modules > 0, load_modules},
                                                      {options.rate > 0, steady_loop}};
  for (const auto& [wanted, mode] : modes) {
    if (wanted) {
      mode(worker);
    }
  }
  worker.synchronize();
}

// Forks a child, which cannot use CUDA because its parent does. The child must not crash or be counted, and must not
// wait for threads of the parent when it ends. If `by_system_call` is set, no fork handlers run.
void use_in_child(const Worker& worker, bool by_system_call) {
  const pid_t child = by_system_call ? static_cast<pid_t>(syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0)) : fork();
  if (child == 0) {
    const bool refused =
        cuInit(0) != CUDA_SUCCESS && cuCtxSynchronize() != CUDA_SUCCESS &&
        cuLaunchKernel(worker.cheap, 1, 1, 1, 32, 1, 1, 0, worker.stream, nullptr, nullptr) != CUDA_SUCCESS;
    exit(refused ? 0 : 1);
  }
  int status = 0;
  if (child < 0 || waitpid(child, &status, 0) != child || status != 0) {
    fprintf(stderr, "mock_cuda_app: the forked child ended with status %d\n", status);
    exit(1);
  }
}

void try_in_child(const Worker& worker, bool by_system_call) {
  for (int tries = 0; tries < 3; ++tries) {  // retries, as the machine may be busy
    const auto begin = std::chrono::steady_clock::now();
    use_in_child(worker, by_system_call);
    if (std::chrono::steady_clock::now() - begin < std::chrono::milliseconds(1500)) {
      return;
    }
  }
  fprintf(stderr, "mock_cuda_app: the forked child took too long to end\n");
  exit(1);
}

void print_counts(const char* key, const std::map<std::string, Count>& counts) {
  const char* separator = "";
  printf("\"%s\": {", key);
  for (const auto& [name, op] : counts) {
    printf("%s\"%s\": {\"count\": %lu, \"ns\": %lu, \"bytes\": %lu}", separator, name.c_str(), op.count, op.ns,
           op.bytes);
    separator = ", ";
  }
  printf("}, ");
}

void print(const Totals& totals, int unfinished) {
  uint64_t ops = 0;
  uint64_t ns = 0;
  for (const auto& [name, op] : totals.ops) {
    ops += op.count;
    ns += op.ns;
  }
  printf("{\"pid\": %d, ", getpid());
  print_counts("ops", totals.ops);
  print_counts("host", totals.host);
  printf("\"total_ops\": %lu, \"total_ns\": %lu, \"launches\": %lu, \"captured\": %lu, \"failed\": %lu, ", ops, ns,
         totals.launches, totals.captured, totals.failed);
  printf("\"unfinished\": %d}\n", unfinished);
  fflush(stdout);
}

int end(const char* ending, char** argv) {
  if (strcmp(ending, "_exit") == 0) {
    _exit(7);
  }
  if (strcmp(ending, "abort") == 0) {
    abort();
  }
  if (strcmp(ending, "segv") == 0 || strcmp(ending, "kill") == 0) {
    raise(strcmp(ending, "segv") == 0 ? SIGSEGV : SIGKILL);
  }
  if (strcmp(ending, "exec") == 0) {
    for (char** argument = argv; *argument != nullptr; ++argument) {
      if (strcmp(*argument, "exec") == 0) {
        *argument = const_cast<char*>("return");
      }
    }
    execv("/proc/self/exe", argv);
    return 1;
  }
  return 0;
}

// Destroys all modules and contexts, possibly before CUPTI has written the records of their work.
void reset(const std::vector<Worker>& workers) {
  for (const Worker& worker : workers) {
    CHECK(cuModuleUnload(worker.module));
  }
  int devices = 0;
  CHECK(cuDeviceGetCount(&devices));
  for (int device = 0; device < devices; ++device) {
    CHECK(cuDevicePrimaryCtxReset(device));
  }
}

struct Late {
  CUfunction function;
  CUstream stream;
};
Late late = {};

// Is registered before CUDA is initialized, so it runs after the recording has ended.
void launch_late() {
  for (int i = 0; i < 3; ++i) {
    CHECK(cuLaunchKernel(late.function, 1, 1, 1, 32, 1, 1, 0, late.stream, nullptr, nullptr));
  }
}

int run(const Options& options, char** argv) {
  if (strcmp(options.ending, "late") == 0) {
    atexit(launch_late);
  }
  CHECK(cuInit(0));
  if (options.close_fds) {
    syscall(SYS_close_range, 3U, ~0U, 0U);
  }
  std::vector<Worker> workers(static_cast<size_t>(options.threads), Worker(options));
  std::vector<std::thread> threads;
  for (int i = 1; i < options.threads; ++i) {
    threads.emplace_back(work, std::ref(workers[static_cast<size_t>(i)]), i);
  }
  work(workers[0], 0);
  for (std::thread& thread : threads) {
    thread.join();
  }
  if (options.fork_child) {
    try_in_child(workers[0], false);
    try_in_child(workers[0], true);
    assemble(workers[0]);
    workers[0].synchronize();
  }
  Totals totals;
  for (const Worker& worker : workers) {
    totals.add(worker.totals);
  }
  if (options.unfinished) {
    CHECK(cuLaunchKernel(workers[0].endless, 1, 1, 1, 32, 1, 1, 0, workers[0].stream, nullptr, nullptr));
    ++totals.launches;
  }
  if (strcmp(options.ending, "reset") == 0) {
    reset(workers);
  }
  late = {workers[0].cheap, workers[0].stream};
  print(totals, options.unfinished ? 1 : 0);
  usleep(static_cast<useconds_t>(options.sleep_ms) * 1000);
  while (!may_end(options)) {
    usleep(5000);
  }
  return end(options.ending, argv);
}

}  // namespace
}  // namespace gpuprof::mock_app

int main(int argc, char** argv) {
  const gpuprof::mock_app::Options options = gpuprof::mock_app::parse(argc, argv);
  if (options.load != nullptr && dlopen(options.load, RTLD_NOW) == nullptr) {
    fprintf(stderr, "mock_cuda_app: %s\n", dlerror());
    return 1;
  }
  return gpuprof::mock_app::run(options, argv);
}
