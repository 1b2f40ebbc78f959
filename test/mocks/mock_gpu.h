// How long work takes on the mock GPU, and how the mock driver reports it to the mock CUPTI.
#pragma once

#include <cuda.h>

#include <cstdint>

namespace gpuprof::mock {

// Returns the time of a copy. The times of kernels are in the module image, in lines "name ns".
constexpr uint64_t copy_ns(uint64_t bytes) {
  return 1000 + bytes / 16;
}
constexpr uint64_t fill_ns(uint64_t bytes) {
  return 500 + bytes / 64;
}
// Time from the submission of a kernel to its start, if nothing runs before it.
constexpr uint64_t kSubmitNs = 500;

// Returns the number that MOCK_CUDA_DEVICES gives (default: 2).
int device_count();

enum class Domain { driver = 1, runtime = 2 };
enum class Site { enter = 0, exit = 1 };
enum class OpKind { kernel, copy, peer_copy, fill, graph };

struct Call {
  Domain domain;
  uint32_t id;  // CUpti_CallbackId
  const char* name;
  const char* symbol;  // the kernel's symbol, for launches
  CUcontext context;
  const void* params;  // layout of generated_cuda_meta.h; null if the mock does not provide them
  uint32_t correlation;
  int result;
  uint64_t* correlation_data;  // the same pointer at entry and exit of the call
};

// Work on a stream. Times are CLOCK_MONOTONIC; `end_ns` may lie in the future.
struct Op {
  OpKind kind;
  uint64_t queued_ns;
  uint64_t submitted_ns;
  uint64_t start_ns;
  uint64_t end_ns;
  uint32_t device;
  uint32_t context;
  uint32_t stream;
  uint32_t correlation;
  uint64_t bytes;
  uint64_t graph_node;
  uint32_t graph;     // id of the executable graph
  bool of_body;       // true: the work is in the body of a conditional node, so its record has no correlation id
  uint8_t copy_kind;  // CUpti_ActivityMemcpyKind
  uint32_t module;    // module id of a kernel
  uint64_t number;    // of the work in the process, whether it is traced or not; 0: none
  const char* name;   // owned by the module: the memory is reused after the module is unloaded
};

struct MemoryOp {
  bool freed;
  uint64_t address;
  uint64_t bytes;
  uint64_t time_ns;
  uint32_t device;
  uint32_t context;
  uint32_t correlation;
  uint8_t memory_kind;  // CUpti_ActivityMemoryKind
};

struct ManagedOp {
  uint32_t counter;  // CUpti_ActivityUnifiedMemoryCounterKind
  uint64_t value;
  uint64_t start_ns;
  uint64_t end_ns;
  uint64_t address;
  uint32_t device;
};

// cuGraphExecUpdate causes two events: `read` for the node that it copies from, then `params_set` for the executable
// graph's node.
enum class NodeEvent { created, cloned, destroyed, read, params_set };
enum class ModuleEvent { loaded, unloading };
enum class ContextEvent { created, destroying };

struct Tracer {
  void (*call)(const Call& call, Site site);
  void (*op)(const Op& op);
  void (*memory)(const MemoryOp& op);
  void (*managed)(const ManagedOp& op);
  void (*node)(NodeEvent event, CUgraphNode node, CUgraphNode original);
  void (*module)(ModuleEvent event, CUcontext context, uint32_t id, const void* cubin, size_t bytes);
  void (*context)(ContextEvent event, CUcontext context);
};

}  // namespace gpuprof::mock

// Functions that the mock libcuda exports beyond the driver API, as the real one does for tools and for cudart.
extern "C" {
CUresult mock_cuda_set_tracer(const gpuprof::mock::Tracer* tracer);
uint32_t mock_cuda_enter(gpuprof::mock::Domain domain, uint32_t id, const char* name, const char* symbol,
                         const void* params = nullptr);
void mock_cuda_exit(gpuprof::mock::Domain domain, uint32_t id, const char* name, const char* symbol, int result,
                    const void* params = nullptr);
const char* mock_cuda_function_name(CUfunction function);
uint64_t mock_cuda_node_id(CUgraphNode node);
uint32_t mock_cuda_exec_id(CUgraphExec exec);
uint32_t mock_cuda_stream_id(CUcontext context, CUstream stream);
// Returns false if the context does not exist.
bool mock_cuda_context(CUcontext context, uint32_t* id, uint32_t* device);
// Sets the value that a conditional node finds in later launches. In a real program, kernels do this.
void mock_cuda_set_condition(CUgraphConditionalHandle handle, unsigned int value);
// Returns the sum of the first arguments, of type uint64_t, of all launches of PTX kernels.
uint64_t mock_cuda_argument_sum();
uint32_t mock_cuda_captures();
// Returns whether cuInit has returned.
bool mock_cuda_ready();
// Calls cuCtxSynchronize(), in which cuMemAlloc() runs.
CUresult mock_cuda_wait_and_allocate();
// Simulates a page fault: the GPU or the CPU touches a page of managed memory, and the page migrates there.
CUresult mock_cuda_page_fault(CUdeviceptr address, size_t bytes, bool by_gpu);
// These variants use the per-thread default stream. cuda.h declares them only for programs compiled with that default
// stream.
CUresult mock_cuda_launch_per_thread(CUfunction function, CUstream stream);
}
