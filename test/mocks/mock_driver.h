// What the files of the mock libcuda share.
#pragma once

#include <cuda.h>
#include <cupti_activity.h>
#include <cupti_callbacks.h>
#include <cupti_driver_cbid.h>
#include <sys/types.h>

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "mock_gpu.h"

struct CUfunc_st {
  std::string name;
  uint64_t ns;
};
struct CUmod_st {
  std::map<std::string, std::unique_ptr<CUfunc_st>> functions;
};
struct CUctx_st {
  uint32_t id;
  CUdevice device;
};
struct CUstream_st {
  uint32_t id;
  CUctx_st* context;
  uint64_t free_at_ns;  // when all work that was put on it so far will be done
  CUgraph capturing;    // null: not capturing
};
struct CUevent_st {
  uint64_t at_ns;
};
struct CUgraphNode_st {
  uint64_t id;
  gpuprof::mock::OpKind kind;
  std::string name;
  uint64_t ns;
  gpuprof::mock::Op op;  // bytes and direction
};
struct CUgraph_st {
  std::vector<std::unique_ptr<CUgraphNode_st>> nodes;
};
struct CUgraphExec_st {
  std::vector<std::unique_ptr<CUgraphNode_st>> nodes;
};

namespace gpuprof::mock {

struct Driver {
  std::mutex mutex;
  pid_t pid = 0;
  std::atomic<bool> ready{false};
  std::atomic<const Tracer*> tracer{nullptr};
  std::atomic<uint32_t> last_correlation{0};
  std::vector<std::unique_ptr<CUctx_st>> contexts;
  std::vector<std::unique_ptr<CUstream_st>> streams;  // the first of each context is its default stream
  uint32_t last_context = 0;
  uint32_t last_stream = 12;
  uint64_t last_node = uint64_t{1} << 32;  // the real ids have a graph's number in their upper half
  uint64_t last_address = 0x10000000;
  std::map<CUdeviceptr, MemoryOp> allocations;
};

Driver& driver();
uint64_t now_ns();
// False in a forked child, where CUDA can not be used.
bool usable();
CUctx_st* current_context();
void set_current_context(CUctx_st* context);
uint32_t current_correlation();
CUstream_st* stream_of(CUstream stream);
void sleep_until(uint64_t when);

// Work of `ns` on a stream: runs after what is there, or becomes a node where the stream is capturing.
CUresult put(CUstream stream, OpKind kind, uint64_t ns, Op op);
// The same, never captured: work of a graph. Returns it with its times.
Op run(CUstream_st* stream, OpKind kind, uint64_t ns, Op op);
// A node of a graph, with the callback that tools get.
CUgraphNode add_node(CUgraph graph, OpKind kind, const char* name, uint64_t ns, const Op& op);

// One API call as tools see it: `return call(CUPTI_..., "cu...", [&] { ... });`
template <typename Body>
CUresult api_call(CUpti_driver_api_trace_cbid id, const char* name, const char* symbol, const Body& body) {
  mock_cuda_enter(Domain::driver, id, name, symbol);
  const CUresult result = usable() ? body() : CUDA_ERROR_NOT_INITIALIZED;
  mock_cuda_exit(Domain::driver, id, name, symbol, result);
  return result;
}

}  // namespace gpuprof::mock

#define MOCK_CALL(function, symbol, body) \
  gpuprof::mock::api_call(CUPTI_DRIVER_TRACE_CBID_##function, #function, symbol, body)
