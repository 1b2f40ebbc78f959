#pragma once

#include <cuda.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>
#include <vector>

#include "check.h"
#include "mock_gpu.h"

namespace gpuprof::mock_app {

constexpr const char* kCheap = "_Z8assemblePfi";
constexpr const char* kDear = "_Z5solvePfi";
constexpr const char* kEndless = "_Z7endlessv";
constexpr uint64_t kCheapNs = 4000;
constexpr uint64_t kDearNs = 16000;
constexpr size_t kBytes = 65536;

struct Options {
  int launches = 100;  // per site and thread
  int threads = 1;
  int graph_launches = 0;
  int graph_nodes = 0;
  int graph_replays = 1;
  int graph_instances = 1;
  int streams = 0;
  int per_stream = 100;
  int syncs = 0;
  int allocs = 0;
  int managed = 0;
  int variants = 0;
  int failures = 0;
  int modules = 0;  // loads of a module, timed by the program's own clock
  int rate = 0;
  int seconds = 1;
  int stacks = 8;
  int sleep_ms = 0;
  int gap_us = 0;  // pause between rounds of the three sites
  bool driver_api = false;
  bool kernels_only = false;
  bool fork_child = false;
  bool unfinished = false;
  bool capture_thread = false;
  bool clone_graph = false;
  bool update_graph = false;
  bool close_fds = false;
  const char* ending = "return";
  const char* until = nullptr;  // the program may end once this file exists
  const char* load = nullptr;   // a library to load before CUDA is used
};

// Ends the program if the arguments are wrong.
Options parse(int argc, char** argv);

struct Count {
  uint64_t count = 0;
  uint64_t ns = 0;
  uint64_t bytes = 0;
};

struct Totals {
  uint64_t launches = 0;  // launch calls, including those that became graph nodes or failed
  uint64_t captured = 0;
  uint64_t failed = 0;
  std::map<std::string, Count> ops;
  std::map<std::string, Count> host;  // ns: only of "load", because other durations are unpredictable

  void add(const std::string& name, uint64_t ns, uint64_t bytes) { add(ops[name], {1, ns, bytes}); }
  void add_host(const std::string& name, uint64_t count, uint64_t bytes) { add(host[name], {count, 0, bytes}); }
  void add(const Totals& other) {
    launches += other.launches;
    captured += other.captured;
    failed += other.failed;
    for (const auto& [name, op] : other.ops) {
      add(ops[name], op);
    }
    for (const auto& [name, op] : other.host) {
      add(host[name], op);
    }
  }

 private:
  static void add(Count& to, const Count& more) {
    to.count += more.count;
    to.ns += more.ns;
    to.bytes += more.bytes;
  }
};

struct Worker {
  explicit Worker(const Options& wanted) : options(wanted) {}

  const Options& options;
  CUdevice device = 0;
  CUcontext context = nullptr;
  CUmodule module = nullptr;
  CUfunction cheap = nullptr;
  CUfunction dear = nullptr;
  CUfunction endless = nullptr;
  CUstream stream = nullptr;
  CUdeviceptr memory = 0;
  std::vector<char> host = std::vector<char>(kBytes);
  Totals totals;

  void open(int index);
  void launch(CUfunction function, const char* name, uint64_t ns);
  void transferred(const char* name, uint64_t ns, uint64_t bytes = kBytes);
  void synchronize();
};

bool may_end(const Options& options);

// The modes of the program. Each adds its work to the worker's totals.
void three_sites(Worker& worker);
void simple_graph(Worker& worker);
void captured_graph(Worker& worker);
void many_streams(Worker& worker);
void wait_often(Worker& worker);
void allocate_often(Worker& worker);
void touch_managed(Worker& worker);
void launch_variants(Worker& worker);
void launch_wrongly(Worker& worker);
void load_modules(Worker& worker);
void steady_loop(Worker& worker);
void assemble(Worker& worker);

}  // namespace gpuprof::mock_app
