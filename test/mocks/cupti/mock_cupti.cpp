// A libcupti.so.13 that enforces the real library's rules: one subscriber, callbacks for enabled ids only, records for
// enabled kinds only, and the real error codes for wrong parameters.
#include <cupti_activity.h>
#include <cupti_callbacks.h>
#include <cupti_driver_cbid.h>
#include <cupti_runtime_cbid.h>
#include <cupti_version.h>
#include <dlfcn.h>
#include <unistd.h>

#include <atomic>
#include <cstring>
#include <ctime>

#include "mock_cupti_buffers.h"
#include "mock_cupti_sampling.h"
#include "mock_cupti_sass.h"
#include "mock_cupti_shared.h"
#include "mock_faults.h"
#include "mock_gpu.h"

namespace mock = gpuprof::mock;

struct CUpti_Subscriber_st {
  CUpti_CallbackFunc callback;
  void* user;
};

namespace {

constexpr uint32_t kMaxId = 2048;

struct Name {
  CUpti_CallbackDomain domain;
  CUpti_CallbackId id;
  const char* name;
};
#define MOCK_DRIVER(name) \
  { CUPTI_CB_DOMAIN_DRIVER_API, CUPTI_DRIVER_TRACE_CBID_##name, #name }
#define MOCK_RUNTIME(name) \
  { CUPTI_CB_DOMAIN_RUNTIME_API, CUPTI_RUNTIME_TRACE_CBID_##name, #name }
#define MOCK_RESOURCE(name) \
  { CUPTI_CB_DOMAIN_RESOURCE, CUPTI_CBID_RESOURCE_##name, #name }
// The callback ids that the mock driver and runtime use. A profiler must ignore those that are not launches.
constexpr Name kNames[] = {MOCK_DRIVER(cuDriverGetVersion),
                           MOCK_DRIVER(cuDriverGetVersion),
                           MOCK_DRIVER(cuCtxSynchronize),
                           MOCK_DRIVER(cuStreamSynchronize),
                           MOCK_DRIVER(cuEventSynchronize),
                           MOCK_DRIVER(cuEventRecord),
                           MOCK_DRIVER(cuMemAlloc_v2),
                           MOCK_DRIVER(cuMemFree_v2),
                           MOCK_DRIVER(cuMemAllocAsync),
                           MOCK_DRIVER(cuMemFreeAsync),
                           MOCK_DRIVER(cuMemAllocManaged),
                           MOCK_DRIVER(cuMemHostAlloc),
                           MOCK_DRIVER(cuMemFreeHost),
                           MOCK_DRIVER(cuMemPrefetchAsync_v2),
                           MOCK_DRIVER(cuLaunchHostFunc),
                           MOCK_DRIVER(cuLaunchKernel),
                           MOCK_DRIVER(cuLaunchKernel_ptsz),
                           MOCK_DRIVER(cuLaunchKernelEx),
                           MOCK_DRIVER(cuLaunchCooperativeKernel),
                           MOCK_DRIVER(cuMemcpyHtoD_v2),
                           MOCK_DRIVER(cuMemcpyHtoDAsync_v2),
                           MOCK_DRIVER(cuMemcpyDtoHAsync_v2),
                           MOCK_DRIVER(cuMemcpyDtoDAsync_v2),
                           MOCK_DRIVER(cuMemcpyPeerAsync),
                           MOCK_DRIVER(cuMemcpyBatchAsync_v2),
                           MOCK_DRIVER(cuMemsetD8Async),
                           MOCK_DRIVER(cuStreamBeginCapture_v2),
                           MOCK_DRIVER(cuStreamEndCapture),
                           MOCK_DRIVER(cuDevicePrimaryCtxRetain),
                           MOCK_DRIVER(cuModuleLoadData),
                           MOCK_DRIVER(cuModuleGetFunction),
                           MOCK_DRIVER(cuModuleUnload),
                           MOCK_DRIVER(cuLibraryLoadData),
                           MOCK_DRIVER(cuLibraryGetKernel),
                           MOCK_DRIVER(cuLibraryUnload),
                           MOCK_DRIVER(cuDevicePrimaryCtxReset_v2),
                           MOCK_DRIVER(cuGraphCreate),
                           MOCK_DRIVER(cuGraphAddKernelNode_v2),
                           MOCK_DRIVER(cuGraphAddNode_v2),
                           MOCK_DRIVER(cuGraphConditionalHandleCreate),
                           MOCK_DRIVER(cuGraphExecKernelNodeSetParams_v2),
                           MOCK_DRIVER(cuGraphClone),
                           MOCK_DRIVER(cuGraphInstantiateWithFlags),
                           MOCK_DRIVER(cuGraphExecUpdate_v2),
                           MOCK_DRIVER(cuGraphDestroy),
                           MOCK_DRIVER(cuGraphExecDestroy),
                           MOCK_DRIVER(cuGraphLaunch),
                           MOCK_RUNTIME(cudaLaunchKernel_v7000),
                           MOCK_RUNTIME(cudaMemcpyAsync_v3020),
                           MOCK_RUNTIME(cudaMemsetAsync_v3020),
                           MOCK_RUNTIME(cudaGraphLaunch_v10000),
                           MOCK_RESOURCE(CONTEXT_CREATED),
                           MOCK_RESOURCE(CONTEXT_DESTROY_STARTING),
                           MOCK_RESOURCE(MODULE_LOADED),
                           MOCK_RESOURCE(MODULE_UNLOAD_STARTING),
                           MOCK_RESOURCE(MODULE_PROFILED),
                           MOCK_RESOURCE(GRAPHNODE_CREATED),
                           MOCK_RESOURCE(GRAPHNODE_CLONED),
                           MOCK_RESOURCE(GRAPHNODE_DESTROY_STARTING),
                           MOCK_RESOURCE(GRAPH_NODE_UPDATED),
                           MOCK_RESOURCE(GRAPH_NODE_SET_PARAMS)};

struct Library {
  std::atomic<CUpti_Subscriber_st*> subscriber{nullptr};
  std::atomic<bool> enabled[4][kMaxId] = {};  // indexed by CUpti_CallbackDomain
  std::atomic<bool> kinds[CUPTI_ACTIVITY_KIND_COUNT] = {};
  std::atomic<bool> unified_memory_configured{false};
  std::atomic<bool> graphs_recorded{false};
  std::atomic<bool> any_context{false};
  // If kinds are on at the first context, the real library records nothing more once they were off, until it is
  // detached.
  std::atomic<bool> on_at_context{false};
  std::atomic<bool> records_nothing{false};
};
Library library;
thread_local bool in_api_exit = false;

uint64_t clock_ns(clockid_t clock) {
  timespec now = {};
  clock_gettime(clock, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1000000000ULL + static_cast<uint64_t>(now.tv_nsec);
}

bool known(CUpti_CallbackDomain domain, CUpti_CallbackId id) {
  const bool of_update =
      id == CUPTI_CBID_RESOURCE_GRAPH_NODE_UPDATED || id == CUPTI_CBID_RESOURCE_GRAPH_NODE_SET_PARAMS;
  if (domain == CUPTI_CB_DOMAIN_RESOURCE && of_update && mock::faults().no_node_updates) {
    return false;
  }
  for (const Name& name : kNames) {
    if (name.domain == domain && name.id == id) {
      return true;
    }
  }
  return false;
}

void on_call(const mock::Call& call, mock::Site site) {
  const CUpti_Subscriber_st* subscriber = library.subscriber;
  const auto domain = static_cast<uint32_t>(call.domain);
  if (subscriber == nullptr || call.id >= kMaxId || !library.enabled[domain][call.id]) {
    return;
  }
  int result = call.result;
  CUpti_CallbackData data = {};
  data.callbackSite = site == mock::Site::enter ? CUPTI_API_ENTER : CUPTI_API_EXIT;
  data.functionName = call.name;
  data.functionReturnValue = site == mock::Site::enter ? nullptr : &result;
  data.functionParams = call.params;
  data.context = call.context;
  data.symbolName = call.symbol;
  data.correlationData = call.correlation_data;
  data.correlationId = call.correlation;
  in_api_exit = site == mock::Site::exit;
  subscriber->callback(subscriber->user, static_cast<CUpti_CallbackDomain>(domain), call.id, &data);
  in_api_exit = false;
}

// Adds a record for the work. If complete graphs are recorded, nodes of graphs have no records of their own.
void on_op(const mock::Op& op) {
  const bool whole_graphs = library.kinds[CUPTI_ACTIVITY_KIND_GRAPH_TRACE];
  if (op.graph_node != 0 && (whole_graphs || library.kinds[CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL])) {
    library.graphs_recorded = true;
  }
  if (library.kinds[mock::activity_kind(op.kind)] && !library.records_nothing &&
      !(whole_graphs && op.graph_node != 0)) {
    mock::add_op(op);
  }
  mock::tool_op(op);
  mock::sample_op(op);
  mock::count_op(op, library.kinds[CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL],
                 library.enabled[CUPTI_CB_DOMAIN_RESOURCE][CUPTI_CBID_RESOURCE_MODULE_PROFILED]);
}

void on_memory(const mock::MemoryOp& op) {
  if (library.kinds[CUPTI_ACTIVITY_KIND_MEMORY2]) {
    mock::add_memory(op);
  }
}

void on_managed(const mock::ManagedOp& op) {
  if (library.kinds[CUPTI_ACTIVITY_KIND_UNIFIED_MEMORY_COUNTER]) {
    mock::add_managed(op);
  }
}

void tell_resource(CUpti_CallbackId id, void* descriptor, CUcontext context = nullptr) {
  const CUpti_Subscriber_st* subscriber = library.subscriber;
  if (subscriber == nullptr || !library.enabled[CUPTI_CB_DOMAIN_RESOURCE][id]) {
    return;
  }
  CUpti_ResourceData data = {};
  data.context = context;
  data.resourceDescriptor = descriptor;
  subscriber->callback(subscriber->user, CUPTI_CB_DOMAIN_RESOURCE, id, &data);
}

CUpti_CallbackId callback_of(mock::NodeEvent event) {
  switch (event) {
    case mock::NodeEvent::created:
      return CUPTI_CBID_RESOURCE_GRAPHNODE_CREATED;
    case mock::NodeEvent::cloned:
      return CUPTI_CBID_RESOURCE_GRAPHNODE_CLONED;
    case mock::NodeEvent::destroyed:
      return CUPTI_CBID_RESOURCE_GRAPHNODE_DESTROY_STARTING;
    case mock::NodeEvent::read:
      return CUPTI_CBID_RESOURCE_GRAPH_NODE_UPDATED;
    default:
      return CUPTI_CBID_RESOURCE_GRAPH_NODE_SET_PARAMS;
  }
}

void on_node(mock::NodeEvent event, CUgraphNode node, CUgraphNode original) {
  CUpti_GraphData graph = {};
  graph.node = node;
  graph.originalNode = original;
  tell_resource(callback_of(event), &graph);
}

void on_module(mock::ModuleEvent event, CUcontext context, uint32_t id, const void* cubin, size_t bytes) {
  CUpti_ModuleResourceData module = {};
  module.moduleId = id;
  module.pCubin = static_cast<const char*>(cubin);
  module.cubinSize = bytes;
  if (event == mock::ModuleEvent::loaded) {
    mock::sample_module(id, cubin, bytes);
  }
  if (event != mock::ModuleEvent::loaded) {
    mock::begin_unload(id);
  }
  tell_resource(event == mock::ModuleEvent::loaded ? CUPTI_CBID_RESOURCE_MODULE_LOADED
                                                   : CUPTI_CBID_RESOURCE_MODULE_UNLOAD_STARTING,
                &module, context);
  mock::end_unload();
}

void on_context(mock::ContextEvent event, CUcontext context) {
  const bool created = event == mock::ContextEvent::created;
  if (created && !library.any_context.exchange(true) && library.kinds[CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL]) {
    library.on_at_context = true;
  }
  tell_resource(created ? CUPTI_CBID_RESOURCE_CONTEXT_CREATED : CUPTI_CBID_RESOURCE_CONTEXT_DESTROY_STARTING, nullptr,
                context);
  if (!created) {
    mock::forget_sampled_context(context);
  }
}

constexpr mock::Tracer kTracer = {on_call, on_op, on_memory, on_managed, on_node, on_module, on_context};

template <typename Function>
Function driver_function(const char* name, Function /*of this type*/) {
  void* driver = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD);
  if (driver == nullptr) {
    return nullptr;
  }
  const auto function = reinterpret_cast<Function>(dlsym(driver, name));
  dlclose(driver);
  return function;
}

void forget_subscriber() {
  for (auto& domain : library.enabled) {
    for (auto& id : domain) {
      id = false;
    }
  }
  library.subscriber = nullptr;  // not freed: a callback may be running
}

bool any_kind() {
  for (const auto& kind : library.kinds) {
    if (kind) {
      return true;
    }
  }
  return false;
}

}  // namespace

extern "C" {

CUptiResult cuptiGetVersion(uint32_t* version) {
  if (version == nullptr) {
    return CUPTI_ERROR_INVALID_PARAMETER;
  }
  const uint64_t old = mock::faults().old_version;
  *version = old != 0 ? static_cast<uint32_t>(old) : CUPTI_API_VERSION;
  return CUPTI_SUCCESS;
}

CUptiResult cuptiGetResultString(CUptiResult result, const char** text) {
  if (text == nullptr) {
    return CUPTI_ERROR_INVALID_PARAMETER;
  }
  *text = result == CUPTI_SUCCESS ? "CUPTI_SUCCESS" : "CUPTI_ERROR_MOCK";
  return CUPTI_SUCCESS;
}

CUptiResult cuptiGetTimestamp(uint64_t* timestamp) {
  if (timestamp == nullptr) {
    return CUPTI_ERROR_INVALID_PARAMETER;
  }
  *timestamp = clock_ns(CLOCK_REALTIME);
  return CUPTI_SUCCESS;
}

CUptiResult cuptiSubscribe(CUpti_SubscriberHandle* subscriber, CUpti_CallbackFunc callback, void* user) {
  if (subscriber == nullptr || callback == nullptr) {
    return CUPTI_ERROR_INVALID_PARAMETER;
  }
  if (mock::faults().subscriber_conflict || library.subscriber != nullptr || mock::has_tool()) {
    return CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED;
  }
  return mock::subscribe_main(subscriber, callback, user);
}

}  // extern "C"

namespace gpuprof::mock {

CUptiResult subscribe_main(CUpti_SubscriberHandle* subscriber, CUpti_CallbackFunc callback, void* user) {
  const auto set_tracer =
      driver_function("mock_cuda_set_tracer", static_cast<decltype(&mock_cuda_set_tracer)>(nullptr));
  if (set_tracer == nullptr) {
    return CUPTI_ERROR_NOT_INITIALIZED;
  }
  mock::set_clock_offset(static_cast<int64_t>(clock_ns(CLOCK_REALTIME) - clock_ns(CLOCK_MONOTONIC)));
  library.subscriber = new CUpti_Subscriber_st{callback, user};
  *subscriber = library.subscriber;
  set_tracer(&kTracer);
  return CUPTI_SUCCESS;
}

bool is_main(CUpti_SubscriberHandle subscriber) {
  return subscriber != nullptr && subscriber == library.subscriber;
}

bool has_main() {
  return library.subscriber != nullptr;
}

CUptiResult enable_main(uint32_t number) {
  const auto kind = static_cast<CUpti_ActivityKind>(number);
  if (mock::faults().out_of_memory) {
    return CUPTI_ERROR_OUT_OF_MEMORY;
  }
  if (mock::faults().insufficient_privileges) {
    return CUPTI_ERROR_INSUFFICIENT_PRIVILEGES;
  }
  if (mock::record_bytes(kind) == 0) {
    return CUPTI_ERROR_INVALID_KIND;
  }
  if (kind == CUPTI_ACTIVITY_KIND_UNIFIED_MEMORY_COUNTER && !library.unified_memory_configured) {
    return CUPTI_ERROR_INVALID_OPERATION;
  }
  if (kind == CUPTI_ACTIVITY_KIND_MEMORY2 && mock::faults().refuse_memory) {
    return CUPTI_ERROR_NOT_COMPATIBLE;
  }
  library.kinds[kind] = true;
  return CUPTI_SUCCESS;
}

CUptiResult disable_main(uint32_t number) {
  const auto kind = static_cast<CUpti_ActivityKind>(number);
  if (mock::record_bytes(kind) == 0) {
    return CUPTI_ERROR_INVALID_KIND;
  }
  library.kinds[kind] = false;
  if (kind == CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL && library.on_at_context) {
    library.records_nothing = true;
  }
  return CUPTI_SUCCESS;
}

}  // namespace gpuprof::mock

extern "C" {

CUptiResult cuptiUnsubscribe(CUpti_SubscriberHandle subscriber) {
  if (mock::forget_tool(subscriber)) {
    return CUPTI_SUCCESS;
  }
  if (subscriber == nullptr || subscriber != library.subscriber) {
    return CUPTI_ERROR_INVALID_PARAMETER;
  }
  forget_subscriber();
  return CUPTI_SUCCESS;
}

CUptiResult cuptiGetCallbackName(CUpti_CallbackDomain domain, uint32_t id, const char** name) {
  if (name == nullptr) {
    return CUPTI_ERROR_INVALID_PARAMETER;
  }
  for (const Name& candidate : kNames) {
    if (candidate.domain == domain && candidate.id == id) {
      *name = candidate.name;
      return CUPTI_SUCCESS;
    }
  }
  return CUPTI_ERROR_INVALID_PARAMETER;
}

CUptiResult cuptiEnableCallback(uint32_t enable, CUpti_SubscriberHandle subscriber, CUpti_CallbackDomain domain,
                                CUpti_CallbackId id) {
  if (subscriber == nullptr || subscriber != library.subscriber || !known(domain, id)) {
    return CUPTI_ERROR_INVALID_PARAMETER;
  }
  library.enabled[domain][id] = enable != 0;
  return CUPTI_SUCCESS;
}

CUptiResult cuptiActivityRegisterCallbacks(CUpti_BuffersCallbackRequestFunc request,
                                           CUpti_BuffersCallbackCompleteFunc complete) {
  mock::forbid_if_shared("cuptiActivityRegisterCallbacks beside other subscribers");
  if (request == nullptr || complete == nullptr) {
    return CUPTI_ERROR_INVALID_PARAMETER;
  }
  mock::set_buffer_callbacks(request, complete);
  return CUPTI_SUCCESS;
}

CUptiResult cuptiActivityRegisterTimestampCallback(CUpti_TimestampCallbackFunc timestamp) {
  mock::forbid_if_shared("cuptiActivityRegisterTimestampCallback beside other subscribers");
  if (timestamp == nullptr) {
    return CUPTI_ERROR_INVALID_PARAMETER;
  }
  if (mock::faults().refuse_timestamp_callback || any_kind()) {
    return CUPTI_ERROR_NOT_SUPPORTED;
  }
  mock::set_clock_offset(static_cast<int64_t>(timestamp() - clock_ns(CLOCK_MONOTONIC)));
  return CUPTI_SUCCESS;
}

CUptiResult cuptiActivityEnable(CUpti_ActivityKind kind) {
  mock::forbid_if_shared("cuptiActivityEnable beside other subscribers");
  return mock::enable_main(kind);
}

CUptiResult cuptiActivityDisable(CUpti_ActivityKind kind) {
  mock::forbid_if_shared("cuptiActivityDisable beside other subscribers");
  return mock::disable_main(kind);
}

CUptiResult cuptiActivityGetNextRecord(uint8_t* buffer, size_t valid, CUpti_Activity** record) {
  if (buffer == nullptr || record == nullptr) {
    return CUPTI_ERROR_INVALID_PARAMETER;
  }
  uint8_t* next = buffer;
  if (*record != nullptr) {
    next = reinterpret_cast<uint8_t*>(*record) + mock::record_bytes((*record)->kind);
  }
  if (next < buffer || next >= buffer + valid) {
    return CUPTI_ERROR_MAX_LIMIT_REACHED;
  }
  auto* candidate = reinterpret_cast<CUpti_Activity*>(next);
  if (mock::record_bytes(candidate->kind) == 0) {
    return CUPTI_ERROR_INVALID_KIND;
  }
  *record = candidate;
  return CUPTI_SUCCESS;
}

CUptiResult cuptiActivityGetNumDroppedRecords(CUcontext, uint32_t, size_t* dropped) {
  if (dropped == nullptr) {
    return CUPTI_ERROR_INVALID_PARAMETER;
  }
  *dropped = mock::take_dropped();
  return CUPTI_SUCCESS;
}

CUptiResult cuptiActivityFlushAll(uint32_t flag) {
  if (flag > CUPTI_ACTIVITY_FLAG_FLUSH_FORCED) {
    return CUPTI_ERROR_INVALID_PARAMETER;
  }
  while (mock::faults().hang_flush) {
    pause();
  }
  mock::flush_ops((flag & CUPTI_ACTIVITY_FLAG_FLUSH_FORCED) != 0);
  mock::flush_tool();
  return CUPTI_SUCCESS;
}

CUptiResult cuptiActivityEnableLatencyTimestamps(uint8_t enable) {
  mock::forbid_if_shared("cuptiActivityEnableLatencyTimestamps beside other subscribers");
  if (mock::faults().refuse_latency) {
    return CUPTI_ERROR_NOT_SUPPORTED;
  }
  mock::set_latency(enable != 0);
  return CUPTI_SUCCESS;
}

CUptiResult cuptiActivityConfigureUnifiedMemoryCounter(CUpti_ActivityUnifiedMemoryCounterConfig* config,
                                                       uint32_t count) {
  mock::forbid_if_shared("cuptiActivityConfigureUnifiedMemoryCounter beside other subscribers");
  if (config == nullptr || count == 0) {
    return CUPTI_ERROR_INVALID_PARAMETER;
  }
  const auto ready = driver_function("mock_cuda_ready", static_cast<decltype(&mock_cuda_ready)>(nullptr));
  if (ready == nullptr || !ready()) {
    return CUPTI_ERROR_NOT_INITIALIZED;
  }
  if (mock::faults().refuse_unified_memory) {
    return CUPTI_ERROR_UM_PROFILING_NOT_SUPPORTED_ON_DEVICE;
  }
  library.unified_memory_configured = true;
  return CUPTI_SUCCESS;
}

CUptiResult cuptiGetGraphNodeId(CUgraphNode node, uint64_t* id) {
  const auto node_id = driver_function("mock_cuda_node_id", static_cast<decltype(&mock_cuda_node_id)>(nullptr));
  if (node == nullptr || id == nullptr || node_id == nullptr) {
    return CUPTI_ERROR_INVALID_PARAMETER;
  }
  *id = node_id(node);
  return CUPTI_SUCCESS;
}

CUptiResult cuptiGetGraphExecId(CUgraphExec exec, uint32_t* id) {
  const auto exec_id = driver_function("mock_cuda_exec_id", static_cast<decltype(&mock_cuda_exec_id)>(nullptr));
  if (exec == nullptr || id == nullptr || exec_id == nullptr) {
    return CUPTI_ERROR_INVALID_PARAMETER;
  }
  *id = exec_id(exec);
  return CUPTI_SUCCESS;
}

CUptiResult cuptiGetStreamIdEx(CUcontext context, CUstream stream, uint8_t, uint32_t* id) {
  const auto stream_id = driver_function("mock_cuda_stream_id", static_cast<decltype(&mock_cuda_stream_id)>(nullptr));
  if (id == nullptr || stream_id == nullptr) {
    return CUPTI_ERROR_INVALID_PARAMETER;
  }
  *id = stream_id(context, stream);
  return *id != 0 ? CUPTI_SUCCESS : CUPTI_ERROR_INVALID_STREAM;
}

// The real library is known to crash if this is called anywhere but in the exit callback of an API call.
CUptiResult cuptiFinalize() {
  if (!in_api_exit) {
    mock::violation("cuptiFinalize outside of an API-EXIT callback");
  }
  if (library.subscriber == nullptr) {
    mock::violation("cuptiFinalize without a subscriber");
  }
  mock::forbid_if_shared("cuptiFinalize, although other tools may be subscribed");
  if (mock::sampling_anywhere()) {
    mock::violation("cuptiFinalize while a context is sampled");
  }
  if (library.graphs_recorded) {
    mock::violation("cuptiFinalize although graphs were recorded, whose next launch would fail");
  }
  for (auto& kind : library.kinds) {
    kind = false;
  }
  library.unified_memory_configured = false;
  library.on_at_context = false;
  library.records_nothing = false;
  forget_subscriber();
  mock::forget_ops();
  driver_function("mock_cuda_set_tracer", static_cast<decltype(&mock_cuda_set_tracer)>(nullptr))(nullptr);
  return CUPTI_SUCCESS;
}

}  // extern "C"
