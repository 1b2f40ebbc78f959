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
// From the submission of a kernel to its start, where nothing runs before it.
constexpr uint64_t kSubmitNs = 500;

// MOCK_CUDA_DEVICES, or two.
int device_count();

enum class Domain { driver = 1, runtime = 2 };
enum class Site { enter = 0, exit = 1 };
enum class OpKind { kernel, copy, peer_copy, fill, graph };

struct Call {
  Domain domain;
  uint32_t id;  // CUpti_CallbackId
  const char* name;
  const char* symbol;  // of the kernel, for launches
  CUcontext context;   // of the calling thread
  const void* params;  // the function's, as in generated_cuda_meta.h; null where the mock does not give them
  uint32_t correlation;
  int result;
  uint64_t* correlation_data;  // the same at both sites
};

// Work that was put on a stream. Times are of CLOCK_MONOTONIC; `end_ns` may lie ahead.
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
  uint32_t graph;     // of an executable graph: its id
  bool of_body;       // of a conditional node: its record has no correlation id
  uint8_t copy_kind;  // CUpti_ActivityMemcpyKind
  uint32_t module;    // of a kernel: the id of its module
  const char* name;   // the module's: when that is unloaded, something else will stand there
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

// `read` is told of a node whose parameters an executable graph's node gets next (cuGraphExecUpdate).
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

// What the mock libcuda exports beyond the driver API, as the real one does for its tools and for cudart.
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
// False: there is no such context.
bool mock_cuda_context(CUcontext context, uint32_t* id, uint32_t* device);
// What the kernels of a real program do: the value that a conditional node finds in the launches from now on.
void mock_cuda_set_condition(CUgraphConditionalHandle handle, unsigned int value);
// Streams that are being captured.
uint32_t mock_cuda_captures();
// cuInit has returned.
bool mock_cuda_ready();
// A page of managed memory is touched where it is not, by the GPU or by the CPU, and moves there.
CUresult mock_cuda_page_fault(CUdeviceptr address, size_t bytes, bool by_gpu);
// The variants of a program compiled for a default stream per thread, which cuda.h declares for those only.
CUresult mock_cuda_launch_per_thread(CUfunction function, CUstream stream);
}
