// A libcuda.so.1 without a GPU: enough of the driver API for mock_cuda_app, with the real one's rules. cuInit loads
// the injection library; a forked child is refused; work on a stream runs one after the other.
#include <cuda.h>
#include <cupti_activity.h>
#include <cupti_callbacks.h>
#include <cupti_driver_cbid.h>
#include <dlfcn.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <map>
#include <memory>
#include <mutex>
#include <sstream>
#include <string>
#include <vector>

#include "mock_gpu.h"

using gpuprof::mock::Domain;
using gpuprof::mock::Op;
using gpuprof::mock::OpKind;
using gpuprof::mock::Site;
using gpuprof::mock::Tracer;

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
};
struct CUgraphNode_st {
  uint64_t id;
  CUfunc_st* function;
};
struct CUgraph_st {
  std::vector<std::unique_ptr<CUgraphNode_st>> nodes;
};
struct CUgraphExec_st {
  std::vector<CUgraphNode_st> nodes;
};

namespace {

struct Driver {
  std::mutex mutex;
  pid_t pid = 0;
  std::atomic<const Tracer*> tracer{nullptr};
  std::atomic<uint32_t> last_correlation{0};
  std::vector<std::unique_ptr<CUctx_st>> contexts;
  std::vector<std::unique_ptr<CUstream_st>> streams;  // the first of each context is its default stream
  uint64_t last_node = 0;
  uint64_t last_address = 0x10000000;
};

Driver& driver() {
  static auto* the_driver = new Driver;  // never destroyed: used until the very end of the process
  return *the_driver;
}

thread_local CUctx_st* current_context = nullptr;
thread_local uint32_t current_correlation = 0;
thread_local int call_depth = 0;

uint64_t now_ns() {
  timespec now = {};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1000000000ULL + static_cast<uint64_t>(now.tv_nsec);
}

bool usable() {
  return driver().pid == getpid();
}

void sleep_until(uint64_t when) {
  const timespec until = {static_cast<time_t>(when / 1000000000ULL), static_cast<long>(when % 1000000000ULL)};
  while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, nullptr) != 0) {
  }
}

// One API call as tools see it.
class Scope {
 public:
  Scope(CUpti_driver_api_trace_cbid id, const char* name, const char* symbol = nullptr)
      : id_(id), name_(name), symbol_(symbol) {
    mock_cuda_enter(Domain::driver, id_, name_, symbol_);
  }
  ~Scope() { mock_cuda_exit(Domain::driver, id_, name_, symbol_, CUDA_SUCCESS); }
  Scope(const Scope&) = delete;
  Scope& operator=(const Scope&) = delete;

 private:
  uint32_t id_;
  const char* name_;
  const char* symbol_;
};

CUstream_st* stream_of(CUstream stream) {
  if (stream != nullptr) {
    return stream;
  }
  for (const auto& candidate : driver().streams) {
    if (candidate->context == current_context) {
      return candidate.get();
    }
  }
  return nullptr;
}

CUresult put(CUstream stream, OpKind kind, uint64_t ns, Op op) {
  if (!usable() || current_context == nullptr) {
    return usable() ? CUDA_ERROR_INVALID_CONTEXT : CUDA_ERROR_NOT_INITIALIZED;
  }
  {
    const std::lock_guard lock(driver().mutex);
    CUstream_st* on = stream_of(stream);
    op.kind = kind;
    op.start_ns = std::max(now_ns(), on->free_at_ns);
    op.end_ns = op.start_ns + ns;
    op.device = static_cast<uint32_t>(on->context->device);
    op.context = on->context->id;
    op.stream = on->id;
    op.correlation = current_correlation;
    on->free_at_ns = op.end_ns;
  }
  if (const Tracer* tracer = driver().tracer; tracer != nullptr) {
    tracer->op(op);
  }
  return CUDA_SUCCESS;
}

CUresult copy(CUstream stream, uint64_t bytes, CUpti_ActivityMemcpyKind kind) {
  Op op = {};
  op.bytes = bytes;
  op.copy_kind = static_cast<uint8_t>(kind);
  const OpKind op_kind = kind == CUPTI_ACTIVITY_MEMCPY_KIND_PTOP ? OpKind::peer_copy : OpKind::copy;
  return put(stream, op_kind, gpuprof::mock::copy_ns(bytes), op);
}

void load_injection() {
  const char* path = getenv("CUDA_INJECTION64_PATH");
  void* library = path != nullptr ? dlopen(path, RTLD_LAZY | RTLD_LOCAL) : nullptr;
  if (library == nullptr) {
    return;
  }
  if (const auto entry = reinterpret_cast<int (*)()>(dlsym(library, "InitializeInjection")); entry != nullptr) {
    entry();
  }
}

CUresult wait_for(CUstream_st* only) {
  uint64_t until = 0;
  {
    const std::lock_guard lock(driver().mutex);
    for (const auto& stream : driver().streams) {
      if ((only == nullptr && stream->context == current_context) || stream.get() == only) {
        until = std::max(until, stream->free_at_ns);
      }
    }
  }
  sleep_until(until);
  return CUDA_SUCCESS;
}

}  // namespace

extern "C" {

CUresult mock_cuda_set_tracer(const Tracer* tracer) {
  driver().tracer = tracer;
  return CUDA_SUCCESS;
}

// A call within a call has the outer one's correlation id.
uint32_t mock_cuda_enter(Domain domain, uint32_t id, const char* name, const char* symbol) {
  if (call_depth++ == 0) {
    current_correlation = ++driver().last_correlation;
  }
  const uint32_t correlation = current_correlation;
  if (const Tracer* tracer = driver().tracer; tracer != nullptr) {
    tracer->call({domain, id, name, symbol, correlation, 0}, Site::enter);
  }
  return correlation;
}

void mock_cuda_exit(Domain domain, uint32_t id, const char* name, const char* symbol, int result) {
  if (const Tracer* tracer = driver().tracer; tracer != nullptr) {
    tracer->call({domain, id, name, symbol, current_correlation, result}, Site::exit);
  }
  --call_depth;
}

const char* mock_cuda_function_name(CUfunction function) {
  return function->name.c_str();
}

CUresult cuInit(unsigned int flags) {
  Driver& d = driver();
  if (flags != 0) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  if (d.pid != 0) {
    return usable() ? CUDA_SUCCESS : CUDA_ERROR_NOT_INITIALIZED;
  }
  d.pid = getpid();
  load_injection();
  return CUDA_SUCCESS;
}

CUresult cuDriverGetVersion(int* version) {
  *version = CUDA_VERSION;
  return CUDA_SUCCESS;
}

CUresult cuDeviceGetCount(int* count) {
  if (!usable()) {
    return CUDA_ERROR_NOT_INITIALIZED;
  }
  *count = gpuprof::mock::kDevices;
  return CUDA_SUCCESS;
}

CUresult cuDeviceGet(CUdevice* device, int ordinal) {
  if (!usable()) {
    return CUDA_ERROR_NOT_INITIALIZED;
  }
  if (ordinal < 0 || ordinal >= gpuprof::mock::kDevices) {
    return CUDA_ERROR_INVALID_DEVICE;
  }
  *device = ordinal;
  return CUDA_SUCCESS;
}

CUresult cuDeviceGetName(char* name, int length, CUdevice device) {
  snprintf(name, static_cast<size_t>(length), "Mock GPU %d", device);
  return usable() ? CUDA_SUCCESS : CUDA_ERROR_NOT_INITIALIZED;
}

CUresult cuDevicePrimaryCtxRetain(CUcontext* context, CUdevice device) {
  if (!usable()) {
    return CUDA_ERROR_NOT_INITIALIZED;
  }
  Driver& d = driver();
  const std::lock_guard lock(d.mutex);
  for (const auto& existing : d.contexts) {
    if (existing->device == device) {
      *context = existing.get();
      return CUDA_SUCCESS;
    }
  }
  const auto id = static_cast<uint32_t>(d.contexts.size() + 1);
  d.contexts.push_back(std::make_unique<CUctx_st>(CUctx_st{id, device}));
  *context = d.contexts.back().get();
  d.streams.push_back(std::make_unique<CUstream_st>(CUstream_st{7, *context, 0}));
  return CUDA_SUCCESS;
}

CUresult cuCtxSetCurrent(CUcontext context) {
  current_context = context;
  return usable() ? CUDA_SUCCESS : CUDA_ERROR_NOT_INITIALIZED;
}

CUresult cuCtxSynchronize() {
  const Scope scope(CUPTI_DRIVER_TRACE_CBID_cuCtxSynchronize, "cuCtxSynchronize");
  return usable() ? wait_for(nullptr) : CUDA_ERROR_NOT_INITIALIZED;
}

CUresult cuStreamCreate(CUstream* stream, unsigned int /*flags*/) {
  if (!usable() || current_context == nullptr) {
    return CUDA_ERROR_INVALID_CONTEXT;
  }
  Driver& d = driver();
  const std::lock_guard lock(d.mutex);
  const auto id = static_cast<uint32_t>(d.streams.size() + 13);
  d.streams.push_back(std::make_unique<CUstream_st>(CUstream_st{id, current_context, 0}));
  *stream = d.streams.back().get();
  return CUDA_SUCCESS;
}

CUresult cuStreamSynchronize(CUstream stream) {
  const Scope scope(CUPTI_DRIVER_TRACE_CBID_cuStreamSynchronize, "cuStreamSynchronize");
  return usable() ? wait_for(stream_of(stream)) : CUDA_ERROR_NOT_INITIALIZED;
}

CUresult cuModuleLoadData(CUmodule* module, const void* image) {
  if (!usable()) {
    return CUDA_ERROR_NOT_INITIALIZED;
  }
  auto loaded = std::make_unique<CUmod_st>();
  std::istringstream lines(static_cast<const char*>(image));
  std::string name;
  uint64_t ns = 0;
  while (lines >> name >> ns) {
    loaded->functions[name] = std::make_unique<CUfunc_st>(CUfunc_st{name, ns});
  }
  *module = loaded.release();
  return CUDA_SUCCESS;
}

CUresult cuModuleGetFunction(CUfunction* function, CUmodule module, const char* name) {
  const auto found = module->functions.find(name);
  if (found == module->functions.end()) {
    return CUDA_ERROR_NOT_FOUND;
  }
  *function = found->second.get();
  return CUDA_SUCCESS;
}

CUresult cuMemAlloc(CUdeviceptr* address, size_t bytes) {
  const Scope scope(CUPTI_DRIVER_TRACE_CBID_cuMemAlloc_v2, "cuMemAlloc_v2");
  if (!usable()) {
    return CUDA_ERROR_NOT_INITIALIZED;
  }
  const std::lock_guard lock(driver().mutex);
  *address = driver().last_address;
  driver().last_address += bytes;
  return CUDA_SUCCESS;
}

CUresult cuLaunchKernel(CUfunction f, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                        CUstream stream, void**, void**) {
  const Scope scope(CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel, "cuLaunchKernel", f->name.c_str());
  Op op = {};
  op.name = f->name.c_str();
  return put(stream, OpKind::kernel, f->ns, op);
}

CUresult cuMemcpyHtoDAsync(CUdeviceptr, const void*, size_t bytes, CUstream stream) {
  const Scope scope(CUPTI_DRIVER_TRACE_CBID_cuMemcpyHtoDAsync_v2, "cuMemcpyHtoDAsync_v2");
  return copy(stream, bytes, CUPTI_ACTIVITY_MEMCPY_KIND_HTOD);
}

CUresult cuMemcpyDtoHAsync(void*, CUdeviceptr, size_t bytes, CUstream stream) {
  const Scope scope(CUPTI_DRIVER_TRACE_CBID_cuMemcpyDtoHAsync_v2, "cuMemcpyDtoHAsync_v2");
  return copy(stream, bytes, CUPTI_ACTIVITY_MEMCPY_KIND_DTOH);
}

CUresult cuMemcpyDtoDAsync(CUdeviceptr, CUdeviceptr, size_t bytes, CUstream stream) {
  const Scope scope(CUPTI_DRIVER_TRACE_CBID_cuMemcpyDtoDAsync_v2, "cuMemcpyDtoDAsync_v2");
  return copy(stream, bytes, CUPTI_ACTIVITY_MEMCPY_KIND_DTOD);
}

CUresult cuMemcpyPeerAsync(CUdeviceptr, CUcontext, CUdeviceptr, CUcontext, size_t bytes, CUstream stream) {
  const Scope scope(CUPTI_DRIVER_TRACE_CBID_cuMemcpyPeerAsync, "cuMemcpyPeerAsync");
  return copy(stream, bytes, CUPTI_ACTIVITY_MEMCPY_KIND_PTOP);
}

CUresult cuMemsetD8Async(CUdeviceptr, unsigned char, size_t bytes, CUstream stream) {
  const Scope scope(CUPTI_DRIVER_TRACE_CBID_cuMemsetD8Async, "cuMemsetD8Async");
  Op op = {};
  op.bytes = bytes;
  return put(stream, OpKind::fill, gpuprof::mock::fill_ns(bytes), op);
}

CUresult cuGraphCreate(CUgraph* graph, unsigned int /*flags*/) {
  *graph = new CUgraph_st;
  return CUDA_SUCCESS;
}

CUresult cuGraphAddKernelNode(CUgraphNode* node, CUgraph graph, const CUgraphNode*, size_t,
                              const CUDA_KERNEL_NODE_PARAMS* parameters) {
  const std::lock_guard lock(driver().mutex);
  graph->nodes.push_back(std::make_unique<CUgraphNode_st>(CUgraphNode_st{++driver().last_node, parameters->func}));
  *node = graph->nodes.back().get();
  return CUDA_SUCCESS;
}

CUresult cuGraphInstantiateWithFlags(CUgraphExec* exec, CUgraph graph, unsigned long long /*flags*/) {
  *exec = new CUgraphExec_st;
  for (const auto& node : graph->nodes) {
    (*exec)->nodes.push_back(*node);
  }
  return CUDA_SUCCESS;
}

CUresult cuGraphLaunch(CUgraphExec exec, CUstream stream) {
  const Scope scope(CUPTI_DRIVER_TRACE_CBID_cuGraphLaunch, "cuGraphLaunch");
  for (const CUgraphNode_st& node : exec->nodes) {
    Op op = {};
    op.name = node.function->name.c_str();
    op.graph_node = node.id;
    const CUresult result = put(stream, OpKind::kernel, node.function->ns, op);
    if (result != CUDA_SUCCESS) {
      return result;
    }
  }
  return CUDA_SUCCESS;
}

}  // extern "C"
