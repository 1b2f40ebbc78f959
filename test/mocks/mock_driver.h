#pragma once

#include <cuda.h>
#include <cupti.h>
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

struct CUmod_st;
struct CUfunc_st {
  const char* name;  // made by keep_name()
  uint64_t ns;
  CUmod_st* module;
  size_t params = 0;  // only of PTX
};
struct CUmod_st {
  uint32_t id;
  std::string cubin;
  std::map<std::string, std::unique_ptr<CUfunc_st>> functions;
};
struct CUctx_st {
  uint32_t id;
  CUdevice device;
};
struct CUstream_st {
  uint32_t id;
  CUctx_st* context;
  uint64_t free_at_ns;  // end of all work queued so far
  CUgraph capturing;    // the graph that the stream is capturing, or null
};
struct CUevent_st {
  uint64_t at_ns;
};
struct CUgraph_st;
struct CUgraphNode_st {
  uint64_t id;        // the graph's id in the upper half
  uint64_t original;  // id of the node that this one was copied from
  gpuprof::mock::OpKind kind;
  const char* name;
  uint64_t ns;
  gpuprof::mock::Op op;  // bytes and direction of a copy
  // The following fields are set only in conditional nodes.
  CUgraphConditionalNodeType condition;
  CUgraphConditionalHandle handle;
  std::vector<CUgraph> bodies;
};
struct CUgraph_st {
  uint32_t id;
  uint32_t made;
  std::vector<std::unique_ptr<CUgraphNode_st>> nodes;
};
struct CUgraphExec_st : CUgraph_st {};

namespace gpuprof::mock {

struct Driver {
  std::mutex mutex;
  std::mutex making_context;  // held until tools have got the callback for a new context
  pid_t pid = 0;
  std::atomic<bool> ready{false};
  std::atomic<const Tracer*> tracer{nullptr};
  std::atomic<uint32_t> last_correlation{0};
  // Key: device. Number of kernels, copies within a device, and large fills so far, except those of graphs.
  std::map<uint32_t, uint64_t> numbered;
  std::vector<std::unique_ptr<CUctx_st>> contexts;
  std::vector<std::unique_ptr<CUstream_st>> streams;  // the first of each context is its default stream
  uint32_t last_context = 0;
  uint32_t last_stream = 12;
  uint32_t last_graph = 0;
  uint32_t last_module = 20;
  std::map<CUgraphConditionalHandle, unsigned int> conditions;
  uint64_t last_address = 0x10000000;
  std::map<CUdeviceptr, MemoryOp> allocations;
};

Driver& driver();
uint64_t now_ns();
// Returns false in a forked child, where CUDA cannot be used.
bool usable();
CUctx_st* current_context();
void set_current_context(CUctx_st* context);
uint32_t current_correlation();
CUstream_st* stream_of(CUstream stream);
void sleep_until(uint64_t when);

// Copies a kernel's name. After the unload of its module, another name reuses the memory, as in the real driver.
const char* keep_name(const std::string& name);
void drop_name(const char* name);

// Queues work of `ns` on a stream after all earlier work. If the stream is capturing, the work becomes a node.
CUresult put(CUstream stream, OpKind kind, uint64_t ns, Op op);
// Queues work of a graph; it is never captured. Returns the work with its times.
Op run(CUstream_st* stream, OpKind kind, uint64_t ns, Op op);
// Adds a node to a graph and calls the tools' callback for it.
CUgraphNode add_node(CUgraph graph, OpKind kind, const char* name, uint64_t ns, const Op& op);

// Returns the bytes behind a device address, or null if it is not in an allocation. They exist once they are asked for.
char* device_bytes(CUdeviceptr address);

// Adds the kernels of a PTX text to a module.
void read_ptx(const std::string& text, CUmod_st* module);
// Lets a kernel of PTX run. A probed copy writes the times of its blocks.
CUresult run_ptx(CUfunction function, const cuLaunchKernel_params& launch);

// Waits for the time that MOCK_SLOW_CALLS gives for this function: "cuModuleLoadData=2000,cuLaunchKernel=300" in us.
void slow_down(const char* function);

// Makes one API call and reports it to tools: `return call(CUPTI_..., "cu...", [&] { ... });`
template <typename Body>
CUresult api_call(CUpti_driver_api_trace_cbid id, const char* name, const char* symbol, const void* params,
                  const Body& body) {
  mock_cuda_enter(Domain::driver, id, name, symbol, params);
  slow_down(name);
  const CUresult result = usable() ? body() : CUDA_ERROR_NOT_INITIALIZED;
  mock_cuda_exit(Domain::driver, id, name, symbol, result, params);
  return result;
}

}  // namespace gpuprof::mock

#define MOCK_CALL(function, symbol, body) \
  gpuprof::mock::api_call(CUPTI_DRIVER_TRACE_CBID_##function, #function, symbol, nullptr, body)
// Like MOCK_CALL, but passes the parameters (a function##_params) to tools, which may change them.
#define MOCK_CALL_WITH(function, params, body) \
  gpuprof::mock::api_call(CUPTI_DRIVER_TRACE_CBID_##function, #function, nullptr, params, body)
