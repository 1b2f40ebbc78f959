// Declares the part of CUPTI's ABI (libcupti.so.12, .13) that gpuprof uses. records.h declares activity records.
#pragma once

#include <cstddef>
#include <cstdint>

#include "cupti/api/cuda_abi.h"

namespace gpuprof::injection::cupti {

enum CUptiResult : uint32_t {
  CUPTI_SUCCESS = 0,
  CUPTI_ERROR_INVALID_OPERATION = 7,
  CUPTI_ERROR_OUT_OF_MEMORY = 8,
  CUPTI_ERROR_MAX_LIMIT_REACHED = 12,
  CUPTI_ERROR_NOT_COMPATIBLE = 14,
  CUPTI_ERROR_HARDWARE_BUSY = 26,
  CUPTI_ERROR_NOT_SUPPORTED = 27,
  CUPTI_ERROR_VIRTUALIZED_DEVICE_NOT_SUPPORTED = 33,
  CUPTI_ERROR_INSUFFICIENT_PRIVILEGES = 35,
  CUPTI_ERROR_LEGACY_PROFILER_NOT_SUPPORTED = 38,
  CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED = 39,
  CUPTI_ERROR_VIRTUALIZED_DEVICE_INSUFFICIENT_PRIVILEGES = 40,
  CUPTI_ERROR_CONFIDENTIAL_COMPUTING_NOT_SUPPORTED = 41,
  CUPTI_ERROR_CMP_DEVICE_NOT_SUPPORTED = 42,
  CUPTI_ERROR_MIG_DEVICE_NOT_SUPPORTED = 43,
  CUPTI_ERROR_SLI_DEVICE_NOT_SUPPORTED = 44,
  CUPTI_ERROR_WSL_DEVICE_NOT_SUPPORTED = 45
};

CUptiResult cuptiGetVersion(uint32_t* version);
CUptiResult cuptiGetResultString(CUptiResult result, const char** text);

// ---- callbacks

enum CUpti_ApiCallbackSite : uint32_t { CUPTI_API_ENTER = 0, CUPTI_API_EXIT = 1 };

enum CUpti_CallbackDomain : uint32_t {
  CUPTI_CB_DOMAIN_DRIVER_API = 1,
  CUPTI_CB_DOMAIN_RUNTIME_API = 2,
  CUPTI_CB_DOMAIN_RESOURCE = 3
};

using CUpti_CallbackId = uint32_t;  // The domain determines the meaning of an id.

// Events of the resource domain. For graph events, CUpti_ResourceData::resourceDescriptor points to a CUpti_GraphData;
// for module events, to a CUpti_ModuleResourceData. Context events have no descriptor.
enum CUpti_CallbackIdResource : uint32_t {
  CUPTI_CBID_RESOURCE_CONTEXT_CREATED = 1,
  CUPTI_CBID_RESOURCE_CONTEXT_DESTROY_STARTING = 2,
  CUPTI_CBID_RESOURCE_MODULE_LOADED = 6,
  CUPTI_CBID_RESOURCE_MODULE_UNLOAD_STARTING = 7,
  CUPTI_CBID_RESOURCE_MODULE_PROFILED = 8,  // CUPTI has patched the module's code
  CUPTI_CBID_RESOURCE_GRAPH_CREATED = 9,
  CUPTI_CBID_RESOURCE_GRAPH_DESTROY_STARTING = 10,
  CUPTI_CBID_RESOURCE_GRAPH_CLONED = 11,
  CUPTI_CBID_RESOURCE_GRAPHNODE_CREATE_STARTING = 12,
  CUPTI_CBID_RESOURCE_GRAPHNODE_CREATED = 13,
  CUPTI_CBID_RESOURCE_GRAPHNODE_DESTROY_STARTING = 14,
  CUPTI_CBID_RESOURCE_GRAPHNODE_DEPENDENCY_CREATED = 15,
  CUPTI_CBID_RESOURCE_GRAPHNODE_DEPENDENCY_DESTROY_STARTING = 16,
  CUPTI_CBID_RESOURCE_GRAPHEXEC_CREATE_STARTING = 17,
  CUPTI_CBID_RESOURCE_GRAPHEXEC_CREATED = 18,
  CUPTI_CBID_RESOURCE_GRAPHEXEC_DESTROY_STARTING = 19,
  CUPTI_CBID_RESOURCE_GRAPHNODE_CLONED = 20,
  CUPTI_CBID_RESOURCE_GRAPH_NODE_UPDATED = 22,    // not in CUPTI 12.0
  CUPTI_CBID_RESOURCE_GRAPH_NODE_SET_PARAMS = 23  // not in CUPTI 12.0
};

struct CUpti_CallbackData {
  CUpti_ApiCallbackSite callbackSite;
  const char* functionName;
  const void* functionParams;  // Points to a struct of call_params_abi.h.
  void* functionReturnValue;   // At the end of a call, points to a CUresult or a cudaError_t, which have the same size.
  const char* symbolName;      // name of the launched kernel; null for calls that launch no kernel
  CUcontext context;
  uint32_t contextUid;
  uint64_t* correlationData;
  uint32_t correlationId;
};

struct CUpti_ResourceData {
  CUcontext context;
  union {
    CUstream stream;
  } resourceHandle;
  void* resourceDescriptor;
};

struct CUpti_ModuleResourceData {
  uint32_t moduleId;
  size_t cubinSize;
  const char* pCubin;  // valid in the callback only
};

struct CUpti_GraphData {
  CUgraph graph;
  CUgraph originalGraph;
  CUgraphNode node;
  CUgraphNode originalNode;
  CUgraphNodeType nodeType;
  CUgraphNode dependency;
  CUgraphExec graphExec;
};

struct CUpti_Subscriber_st;
using CUpti_SubscriberHandle = CUpti_Subscriber_st*;
using CUpti_CallbackFunc = void (*)(void* user, CUpti_CallbackDomain domain, CUpti_CallbackId id, const void* data);

CUptiResult cuptiSubscribe(CUpti_SubscriberHandle* subscriber, CUpti_CallbackFunc callback, void* user);
CUptiResult cuptiUnsubscribe(CUpti_SubscriberHandle subscriber);

// CUPTI 13.0 and later; allowMultipleSubscribers: 13.2 and later. `structSize` says which members there are.
struct CUpti_SubscriberParams {
  size_t structSize;
  const char* subscriberName;
  char* oldSubscriberName;  // gets the name of the tool that is subscribed already
  size_t oldSubscriberSize;
  uint8_t allowMultipleSubscribers;
  uint8_t padding[7];
};
CUptiResult cuptiEnableCallback(uint32_t enable, CUpti_SubscriberHandle subscriber, CUpti_CallbackDomain domain,
                                CUpti_CallbackId id);
CUptiResult cuptiGetCallbackName(CUpti_CallbackDomain domain, uint32_t id, const char** name);

// ---- activity

enum CUpti_ActivityKind : uint32_t {
  CUPTI_ACTIVITY_KIND_MEMCPY = 1,
  CUPTI_ACTIVITY_KIND_MEMSET = 2,
  CUPTI_ACTIVITY_KIND_KERNEL = 3,
  CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL = 10,
  CUPTI_ACTIVITY_KIND_MEMCPY2 = 22,
  CUPTI_ACTIVITY_KIND_UNIFIED_MEMORY_COUNTER = 25,
  CUPTI_ACTIVITY_KIND_MEMORY2 = 49,
  CUPTI_ACTIVITY_KIND_GRAPH_TRACE = 51
};

enum CUpti_ActivityMemcpyKind : uint32_t {
  CUPTI_ACTIVITY_MEMCPY_KIND_HTOD = 1,
  CUPTI_ACTIVITY_MEMCPY_KIND_DTOH = 2,
  CUPTI_ACTIVITY_MEMCPY_KIND_HTOA = 3,
  CUPTI_ACTIVITY_MEMCPY_KIND_ATOH = 4,
  CUPTI_ACTIVITY_MEMCPY_KIND_ATOA = 5,
  CUPTI_ACTIVITY_MEMCPY_KIND_ATOD = 6,
  CUPTI_ACTIVITY_MEMCPY_KIND_DTOA = 7,
  CUPTI_ACTIVITY_MEMCPY_KIND_DTOD = 8,
  CUPTI_ACTIVITY_MEMCPY_KIND_HTOH = 9,
  CUPTI_ACTIVITY_MEMCPY_KIND_PTOP = 10
};

enum CUpti_ActivityMemoryOperationType : uint32_t {
  CUPTI_ACTIVITY_MEMORY_OPERATION_TYPE_ALLOCATION = 1,
  CUPTI_ACTIVITY_MEMORY_OPERATION_TYPE_RELEASE = 2
};

enum CUpti_ActivityUnifiedMemoryCounterScope : uint32_t {
  CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_SCOPE_PROCESS_SINGLE_DEVICE = 1
};

enum CUpti_ActivityUnifiedMemoryCounterKind : uint32_t {
  CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_BYTES_TRANSFER_HTOD = 1,
  CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_BYTES_TRANSFER_DTOH = 2,
  CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_CPU_PAGE_FAULT_COUNT = 3,
  CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_GPU_PAGE_FAULT = 4
};

enum CUpti_ActivityFlag : uint32_t { CUPTI_ACTIVITY_FLAG_FLUSH_FORCED = 1 };

struct CUpti_ActivityUnifiedMemoryCounterConfig {
  CUpti_ActivityUnifiedMemoryCounterScope scope;
  CUpti_ActivityUnifiedMemoryCounterKind kind;
  uint32_t deviceId;
  uint32_t enable;
};

// The beginning of every record. CUPTI aligns records to 8 bytes.
struct alignas(8) CUpti_Activity {
  CUpti_ActivityKind kind;
};

using CUpti_BuffersCallbackRequestFunc = void (*)(uint8_t** buffer, size_t* size, size_t* max_records);
using CUpti_BuffersCallbackCompleteFunc = void (*)(CUcontext context, uint32_t stream, uint8_t* buffer, size_t size,
                                                   size_t valid);
using CUpti_TimestampCallbackFunc = uint64_t (*)();

CUptiResult cuptiGetTimestamp(uint64_t* timestamp);
CUptiResult cuptiActivityRegisterCallbacks(CUpti_BuffersCallbackRequestFunc requested,
                                           CUpti_BuffersCallbackCompleteFunc completed);
CUptiResult cuptiActivityRegisterTimestampCallback(CUpti_TimestampCallbackFunc timestamp);  // CUDA 11.6
CUptiResult cuptiActivityEnable(CUpti_ActivityKind kind);
CUptiResult cuptiActivityDisable(CUpti_ActivityKind kind);
CUptiResult cuptiActivityGetNextRecord(uint8_t* buffer, size_t valid, CUpti_Activity** record);
CUptiResult cuptiActivityGetNumDroppedRecords(CUcontext context, uint32_t stream, size_t* dropped);
CUptiResult cuptiActivityFlushAll(uint32_t flag);
CUptiResult cuptiActivityEnableLatencyTimestamps(uint8_t enable);
CUptiResult cuptiActivityConfigureUnifiedMemoryCounter(CUpti_ActivityUnifiedMemoryCounterConfig* config,
                                                       uint32_t count);
CUptiResult cuptiFinalize();

// Return the id of an executable graph (KernelRecord::graphId) or of a graph node, as in activity records.
CUptiResult cuptiGetGraphExecId(CUgraphExec graph, uint32_t* id);
CUptiResult cuptiGetGraphNodeId(CUgraphNode node, uint64_t* id);
// Returns the stream id that activity records use. `per_thread` 1: a null stream means the per-thread default stream.
CUptiResult cuptiGetStreamIdEx(CUcontext context, CUstream stream, uint8_t per_thread, uint32_t* id);
CUptiResult cuptiGetContextId(CUcontext context, uint32_t* id);
CUptiResult cuptiGetDeviceId(CUcontext context, uint32_t* id);

}  // namespace gpuprof::injection::cupti
