// How long work takes on the mock GPU, and how the mock driver tells the mock CUPTI about it.
#pragma once

#include <cuda.h>

#include <cstdint>

namespace gpuprof::mock {

// Kernels: as the module image says (lines of "name ns"). Transfers:
constexpr uint64_t copy_ns(uint64_t bytes) {
  return 1000 + bytes / 16;
}
constexpr uint64_t fill_ns(uint64_t bytes) {
  return 500 + bytes / 64;
}

constexpr int kDevices = 2;

enum class Domain { driver = 1, runtime = 2 };
enum class Site { enter = 0, exit = 1 };
enum class OpKind { kernel, copy, peer_copy, fill };

struct Call {
  Domain domain;
  uint32_t id;  // CUpti_CallbackId
  const char* name;
  const char* symbol;  // of the kernel, for launches
  uint32_t correlation;
  int result;
};

// Work that was put on a stream. Times are of CLOCK_MONOTONIC; `end_ns` may lie ahead.
struct Op {
  OpKind kind;
  uint64_t start_ns;
  uint64_t end_ns;
  uint32_t device;
  uint32_t context;
  uint32_t stream;
  uint32_t correlation;
  uint64_t bytes;
  uint64_t graph_node;
  uint8_t copy_kind;  // CUpti_ActivityMemcpyKind
  const char* name;
};

struct Tracer {
  void (*call)(const Call& call, Site site);
  void (*op)(const Op& op);
};

}  // namespace gpuprof::mock

// What the mock libcuda exports beyond the driver API, as the real one does for its tools and for cudart.
extern "C" {
CUresult mock_cuda_set_tracer(const gpuprof::mock::Tracer* tracer);
uint32_t mock_cuda_enter(gpuprof::mock::Domain domain, uint32_t id, const char* name, const char* symbol);
void mock_cuda_exit(gpuprof::mock::Domain domain, uint32_t id, const char* name, const char* symbol, int result);
const char* mock_cuda_function_name(CUfunction function);
}
