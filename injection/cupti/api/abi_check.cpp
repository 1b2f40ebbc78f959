// Holds our declarations of NVIDIA's interfaces against NVIDIA's headers, where a build finds them. Compiled, never
// linked: there is nothing in it but what the compiler checks.
#include "cupti/api/call_params_abi.h"
#include "cupti/api/cuda_abi.h"
#include "cupti/api/cupti_abi.h"
#include "cupti/api/nvtx_abi.h"
#include "cupti/api/pc_sampling_abi.h"
#include "cupti/api/sass_metrics_abi.h"
#include "cupti/records.h"

// Ours come first: cuda.h makes macros of some names, and with this one it declares the older functions, too.
#define __CUDA_API_VERSION_INTERNAL  // cuda.h's own switch
#include <cuda.h>
#include <cupti_activity.h>
#include <cupti_callbacks.h>
#include <cupti_pcsampling.h>
#include <cupti_profiler_target.h>
#include <cupti_result.h>
#include <cupti_sass_metrics.h>
#include <cupti_target.h>
#include <cupti_version.h>
#include <generated_cuda_meta.h>
#define NVTX_NO_IMPL
#include <nvtx3/nvToolsExt.h>
#include <nvtx3/nvToolsExtPayload.h>

#include <type_traits>

namespace ours = gpuprof::injection::cupti;

namespace {

// NOLINTBEGIN(bugprone-sizeof-expression): the sizes of pointers are meant

// A type of ours in NVIDIA's terms: named ones by the pairs below, the rest is put together from those.
template <typename T>
struct Theirs {
  using Type = T;
};
template <typename T>
struct Theirs<const T> {
  using Type = const typename Theirs<T>::Type;
};
template <typename T>
struct Theirs<T*> {
  using Type = typename Theirs<T>::Type*;
};
template <typename R, typename... A>
struct Theirs<R(A...)> {
  using Type = typename Theirs<R>::Type(typename Theirs<A>::Type...);
};

#define PAIR(name)            \
  template <>                 \
  struct Theirs<ours::name> { \
    using Type = ::name;      \
  }

#define SAME_VALUE(name) \
  static_assert(static_cast<long long>(ours::name) == static_cast<long long>(::name), #name " has another value")
#define SAME_SIZE(name) static_assert(sizeof(ours::name) == sizeof(::name), #name " has another size")
#define SAME_PLACE_IN(name, theirs, field)                                  \
  static_assert(offsetof(ours::name, field) == offsetof(::theirs, field) && \
                    sizeof(ours::name::field) == sizeof(::theirs::field),   \
                #theirs " has " #field " elsewhere")
#define SAME_PLACE(name, field) SAME_PLACE_IN(name, name, field)
// A field of which we also have the type.
#define SAME_FIELD(name, field) \
  SAME_PLACE(name, field);      \
  static_assert(std::is_same_v<Theirs<decltype(ours::name::field)>::Type, decltype(::name::field)>, #name "::" #field)
#define SAME_FUNCTION(name) \
  static_assert(std::is_same_v<Theirs<decltype(ours::name)>::Type, decltype(::name)>, #name " has other arguments")
#define SAME_TYPE(name) static_assert(std::is_same_v<Theirs<ours::name>::Type, ::name>, #name " is another type")

// ---- libcuda

PAIR(CUctx_st);
PAIR(CUfunc_st);
PAIR(CUkern_st);
PAIR(CUstream_st);
PAIR(CUgraph_st);
PAIR(CUgraphNode_st);
PAIR(CUgraphExec_st);
PAIR(CUresult);
PAIR(CUuuid);
PAIR(CUgraphNodeType);
PAIR(CUDA_KERNEL_NODE_PARAMS_v1);
PAIR(CUDA_KERNEL_NODE_PARAMS_v2);
#if CUDA_VERSION >= 12020
PAIR(CUgraphNodeParams);
#endif

SAME_TYPE(CUdevice);
SAME_TYPE(CUcontext);
SAME_TYPE(CUfunction);
SAME_TYPE(CUkernel);
SAME_TYPE(CUstream);
SAME_TYPE(CUgraph);
SAME_TYPE(CUgraphNode);
SAME_TYPE(CUgraphExec);

SAME_SIZE(CUresult);
SAME_VALUE(CUDA_SUCCESS);
SAME_SIZE(CUuuid);
SAME_SIZE(CUgraphNodeType);
SAME_VALUE(CU_GRAPH_NODE_TYPE_KERNEL);
SAME_VALUE(CU_GRAPH_NODE_TYPE_MEMCPY);
SAME_VALUE(CU_GRAPH_NODE_TYPE_MEMSET);
SAME_VALUE(CU_GRAPH_NODE_TYPE_HOST);
SAME_VALUE(CU_GRAPH_NODE_TYPE_GRAPH);
SAME_VALUE(CU_GRAPH_NODE_TYPE_EMPTY);
SAME_VALUE(CU_GRAPH_NODE_TYPE_WAIT_EVENT);
SAME_VALUE(CU_GRAPH_NODE_TYPE_EVENT_RECORD);
SAME_VALUE(CU_GRAPH_NODE_TYPE_EXT_SEMAS_SIGNAL);
SAME_VALUE(CU_GRAPH_NODE_TYPE_EXT_SEMAS_WAIT);
SAME_VALUE(CU_GRAPH_NODE_TYPE_MEM_ALLOC);
SAME_VALUE(CU_GRAPH_NODE_TYPE_MEM_FREE);
SAME_VALUE(CU_GRAPH_NODE_TYPE_BATCH_MEM_OP);
#if CUDA_VERSION >= 12030
SAME_VALUE(CU_GRAPH_NODE_TYPE_CONDITIONAL);
#endif

#define SAME_KERNEL_NODE(name)      \
  SAME_FIELD(name, func);           \
  SAME_FIELD(name, gridDimX);       \
  SAME_FIELD(name, gridDimY);       \
  SAME_FIELD(name, gridDimZ);       \
  SAME_FIELD(name, blockDimX);      \
  SAME_FIELD(name, blockDimY);      \
  SAME_FIELD(name, blockDimZ);      \
  SAME_FIELD(name, sharedMemBytes); \
  SAME_FIELD(name, kernelParams);   \
  SAME_FIELD(name, extra);          \
  SAME_SIZE(name)
SAME_KERNEL_NODE(CUDA_KERNEL_NODE_PARAMS_v1);
SAME_KERNEL_NODE(CUDA_KERNEL_NODE_PARAMS_v2);
SAME_FIELD(CUDA_KERNEL_NODE_PARAMS_v2, kern);
SAME_FIELD(CUDA_KERNEL_NODE_PARAMS_v2, ctx);

#if CUDA_VERSION >= 12020
SAME_FIELD(CUgraphNodeParams, type);
SAME_PLACE(CUgraphNodeParams, kernel);
SAME_PLACE(CUgraphNodeParams, reserved2);
SAME_SIZE(CUgraphNodeParams);
// Its part for kernels has a third name, and the fields of the second.
SAME_PLACE_IN(CUDA_KERNEL_NODE_PARAMS_v2, CUDA_KERNEL_NODE_PARAMS_v3, func);
SAME_PLACE_IN(CUDA_KERNEL_NODE_PARAMS_v2, CUDA_KERNEL_NODE_PARAMS_v3, kernelParams);
SAME_PLACE_IN(CUDA_KERNEL_NODE_PARAMS_v2, CUDA_KERNEL_NODE_PARAMS_v3, extra);
SAME_PLACE_IN(CUDA_KERNEL_NODE_PARAMS_v2, CUDA_KERNEL_NODE_PARAMS_v3, kern);
SAME_PLACE_IN(CUDA_KERNEL_NODE_PARAMS_v2, CUDA_KERNEL_NODE_PARAMS_v3, ctx);
#endif

SAME_FUNCTION(cuDriverGetVersion);
SAME_FUNCTION(cuDeviceGetCount);
SAME_FUNCTION(cuDeviceGet);
SAME_FUNCTION(cuDeviceGetName);
SAME_FUNCTION(cuDeviceGetUuid);
SAME_FUNCTION(cuDeviceGetUuid_v2);
#if CUDA_VERSION >= 12030
SAME_FUNCTION(cuFuncGetName);
SAME_FUNCTION(cuKernelGetName);
#endif

// ---- arguments of libcuda's functions

SAME_SIZE(cuStreamSynchronize_params);
SAME_FIELD(cuStreamSynchronize_params, hStream);
SAME_SIZE(cuGraphLaunch_params);  // the first argument has changed its name
SAME_FIELD(cuGraphLaunch_params, hStream);
SAME_PLACE_IN(cuGraphLaunch_params, cuGraphLaunch_ptsz_params, hStream);

#define SAME_ADDED_NODE(name)        \
  SAME_FIELD(name, phGraphNode);     \
  SAME_FIELD(name, hGraph);          \
  SAME_FIELD(name, dependencies);    \
  SAME_FIELD(name, numDependencies); \
  SAME_PLACE(name, nodeParams);      \
  SAME_SIZE(name)
SAME_ADDED_NODE(cuGraphAddKernelNode_params);
SAME_ADDED_NODE(cuGraphAddKernelNode_v2_params);
#if CUDA_VERSION >= 12020
SAME_ADDED_NODE(cuGraphAddNode_params);
#endif
#if CUDA_VERSION >= 12030
SAME_ADDED_NODE(cuGraphAddNode_v2_params);
SAME_PLACE(cuGraphAddNode_v2_params, dependencyData);
#endif
SAME_FIELD(cuGraphAddKernelNode_params, nodeParams);

SAME_FIELD(cuGraphKernelNodeSetParams_params, hNode);
SAME_FIELD(cuGraphKernelNodeSetParams_params, nodeParams);
SAME_FIELD(cuGraphKernelNodeSetParams_v2_params, hNode);
SAME_FIELD(cuGraphKernelNodeSetParams_v2_params, nodeParams);
#if CUDA_VERSION >= 12020
SAME_FIELD(cuGraphNodeSetParams_params, hNode);
SAME_FIELD(cuGraphNodeSetParams_params, nodeParams);
#endif
SAME_FIELD(cuGraphExecKernelNodeSetParams_params, hGraphExec);
SAME_FIELD(cuGraphExecKernelNodeSetParams_params, hNode);
SAME_FIELD(cuGraphExecKernelNodeSetParams_params, nodeParams);
SAME_FIELD(cuGraphExecKernelNodeSetParams_v2_params, hGraphExec);
SAME_FIELD(cuGraphExecKernelNodeSetParams_v2_params, hNode);
SAME_FIELD(cuGraphExecKernelNodeSetParams_v2_params, nodeParams);
#if CUDA_VERSION >= 12020
SAME_FIELD(cuGraphExecNodeSetParams_params, hGraphExec);
SAME_FIELD(cuGraphExecNodeSetParams_params, hNode);
SAME_FIELD(cuGraphExecNodeSetParams_params, nodeParams);
#endif

// ---- libcupti

PAIR(CUptiResult);
PAIR(CUpti_ApiCallbackSite);
PAIR(CUpti_CallbackDomain);
PAIR(CUpti_Subscriber_st);
PAIR(CUpti_ActivityKind);
PAIR(CUpti_Activity);
PAIR(CUpti_ActivityUnifiedMemoryCounterScope);
PAIR(CUpti_ActivityUnifiedMemoryCounterKind);
PAIR(CUpti_ActivityUnifiedMemoryCounterConfig);

SAME_SIZE(CUptiResult);
SAME_VALUE(CUPTI_SUCCESS);
SAME_VALUE(CUPTI_ERROR_INVALID_OPERATION);
SAME_VALUE(CUPTI_ERROR_OUT_OF_MEMORY);
SAME_VALUE(CUPTI_ERROR_MAX_LIMIT_REACHED);
SAME_VALUE(CUPTI_ERROR_NOT_COMPATIBLE);
SAME_VALUE(CUPTI_ERROR_HARDWARE_BUSY);
SAME_VALUE(CUPTI_ERROR_NOT_SUPPORTED);
SAME_VALUE(CUPTI_ERROR_VIRTUALIZED_DEVICE_NOT_SUPPORTED);
SAME_VALUE(CUPTI_ERROR_INSUFFICIENT_PRIVILEGES);
SAME_VALUE(CUPTI_ERROR_LEGACY_PROFILER_NOT_SUPPORTED);
SAME_VALUE(CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED);
SAME_VALUE(CUPTI_ERROR_VIRTUALIZED_DEVICE_INSUFFICIENT_PRIVILEGES);
#if CUPTI_API_VERSION >= 20
SAME_VALUE(CUPTI_ERROR_CONFIDENTIAL_COMPUTING_NOT_SUPPORTED);
SAME_VALUE(CUPTI_ERROR_CMP_DEVICE_NOT_SUPPORTED);
SAME_VALUE(CUPTI_ERROR_MIG_DEVICE_NOT_SUPPORTED);
SAME_VALUE(CUPTI_ERROR_SLI_DEVICE_NOT_SUPPORTED);
SAME_VALUE(CUPTI_ERROR_WSL_DEVICE_NOT_SUPPORTED);
#endif

SAME_SIZE(CUpti_ApiCallbackSite);
SAME_VALUE(CUPTI_API_ENTER);
SAME_VALUE(CUPTI_API_EXIT);
SAME_SIZE(CUpti_CallbackDomain);
SAME_VALUE(CUPTI_CB_DOMAIN_DRIVER_API);
SAME_VALUE(CUPTI_CB_DOMAIN_RUNTIME_API);
SAME_VALUE(CUPTI_CB_DOMAIN_RESOURCE);
SAME_VALUE(CUPTI_CBID_RESOURCE_CONTEXT_CREATED);
SAME_VALUE(CUPTI_CBID_RESOURCE_CONTEXT_DESTROY_STARTING);
SAME_VALUE(CUPTI_CBID_RESOURCE_MODULE_PROFILED);
SAME_VALUE(CUPTI_CBID_RESOURCE_MODULE_LOADED);
SAME_VALUE(CUPTI_CBID_RESOURCE_MODULE_UNLOAD_STARTING);
SAME_VALUE(CUPTI_CBID_RESOURCE_GRAPH_CREATED);
SAME_VALUE(CUPTI_CBID_RESOURCE_GRAPH_DESTROY_STARTING);
SAME_VALUE(CUPTI_CBID_RESOURCE_GRAPH_CLONED);
SAME_VALUE(CUPTI_CBID_RESOURCE_GRAPHNODE_CREATE_STARTING);
SAME_VALUE(CUPTI_CBID_RESOURCE_GRAPHNODE_CREATED);
SAME_VALUE(CUPTI_CBID_RESOURCE_GRAPHNODE_DESTROY_STARTING);
SAME_VALUE(CUPTI_CBID_RESOURCE_GRAPHNODE_DEPENDENCY_CREATED);
SAME_VALUE(CUPTI_CBID_RESOURCE_GRAPHNODE_DEPENDENCY_DESTROY_STARTING);
SAME_VALUE(CUPTI_CBID_RESOURCE_GRAPHEXEC_CREATE_STARTING);
SAME_VALUE(CUPTI_CBID_RESOURCE_GRAPHEXEC_CREATED);
SAME_VALUE(CUPTI_CBID_RESOURCE_GRAPHEXEC_DESTROY_STARTING);
SAME_VALUE(CUPTI_CBID_RESOURCE_GRAPHNODE_CLONED);

SAME_FIELD(CUpti_CallbackData, callbackSite);
SAME_FIELD(CUpti_CallbackData, functionName);
SAME_FIELD(CUpti_CallbackData, functionParams);
SAME_FIELD(CUpti_CallbackData, functionReturnValue);
SAME_FIELD(CUpti_CallbackData, symbolName);
SAME_FIELD(CUpti_CallbackData, context);
SAME_FIELD(CUpti_CallbackData, contextUid);
SAME_FIELD(CUpti_CallbackData, correlationData);
SAME_FIELD(CUpti_CallbackData, correlationId);
SAME_FIELD(CUpti_ResourceData, context);
SAME_PLACE(CUpti_ResourceData, resourceHandle);
SAME_FIELD(CUpti_ResourceData, resourceDescriptor);
SAME_FIELD(CUpti_ModuleResourceData, moduleId);
SAME_FIELD(CUpti_ModuleResourceData, cubinSize);
SAME_FIELD(CUpti_ModuleResourceData, pCubin);
SAME_FIELD(CUpti_GraphData, graph);
SAME_FIELD(CUpti_GraphData, originalGraph);
SAME_FIELD(CUpti_GraphData, node);
SAME_FIELD(CUpti_GraphData, originalNode);
SAME_FIELD(CUpti_GraphData, nodeType);
SAME_FIELD(CUpti_GraphData, dependency);
SAME_FIELD(CUpti_GraphData, graphExec);

SAME_TYPE(CUpti_CallbackId);
SAME_TYPE(CUpti_SubscriberHandle);
SAME_TYPE(CUpti_CallbackFunc);
SAME_TYPE(CUpti_BuffersCallbackRequestFunc);
SAME_TYPE(CUpti_BuffersCallbackCompleteFunc);
SAME_TYPE(CUpti_TimestampCallbackFunc);

SAME_VALUE(CUPTI_ACTIVITY_KIND_MEMCPY);
SAME_VALUE(CUPTI_ACTIVITY_KIND_MEMSET);
SAME_VALUE(CUPTI_ACTIVITY_KIND_KERNEL);
SAME_VALUE(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL);
SAME_VALUE(CUPTI_ACTIVITY_KIND_MEMCPY2);
SAME_VALUE(CUPTI_ACTIVITY_KIND_UNIFIED_MEMORY_COUNTER);
SAME_VALUE(CUPTI_ACTIVITY_KIND_MEMORY2);
SAME_VALUE(CUPTI_ACTIVITY_KIND_GRAPH_TRACE);
SAME_SIZE(CUpti_ActivityKind);
SAME_VALUE(CUPTI_ACTIVITY_MEMCPY_KIND_HTOD);
SAME_VALUE(CUPTI_ACTIVITY_MEMCPY_KIND_DTOH);
SAME_VALUE(CUPTI_ACTIVITY_MEMCPY_KIND_HTOA);
SAME_VALUE(CUPTI_ACTIVITY_MEMCPY_KIND_ATOH);
SAME_VALUE(CUPTI_ACTIVITY_MEMCPY_KIND_ATOA);
SAME_VALUE(CUPTI_ACTIVITY_MEMCPY_KIND_ATOD);
SAME_VALUE(CUPTI_ACTIVITY_MEMCPY_KIND_DTOA);
SAME_VALUE(CUPTI_ACTIVITY_MEMCPY_KIND_DTOD);
SAME_VALUE(CUPTI_ACTIVITY_MEMCPY_KIND_HTOH);
SAME_VALUE(CUPTI_ACTIVITY_MEMCPY_KIND_PTOP);
SAME_VALUE(CUPTI_ACTIVITY_MEMORY_OPERATION_TYPE_ALLOCATION);
SAME_VALUE(CUPTI_ACTIVITY_MEMORY_OPERATION_TYPE_RELEASE);
SAME_VALUE(CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_SCOPE_PROCESS_SINGLE_DEVICE);
SAME_VALUE(CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_BYTES_TRANSFER_HTOD);
SAME_VALUE(CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_BYTES_TRANSFER_DTOH);
SAME_VALUE(CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_CPU_PAGE_FAULT_COUNT);
SAME_VALUE(CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_GPU_PAGE_FAULT);
SAME_VALUE(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
SAME_FIELD(CUpti_ActivityUnifiedMemoryCounterConfig, scope);
SAME_FIELD(CUpti_ActivityUnifiedMemoryCounterConfig, kind);
SAME_FIELD(CUpti_ActivityUnifiedMemoryCounterConfig, deviceId);
SAME_FIELD(CUpti_ActivityUnifiedMemoryCounterConfig, enable);
SAME_SIZE(CUpti_ActivityUnifiedMemoryCounterConfig);
SAME_FIELD(CUpti_Activity, kind);
SAME_SIZE(CUpti_Activity);

SAME_FUNCTION(cuptiGetVersion);
SAME_FUNCTION(cuptiGetResultString);
SAME_FUNCTION(cuptiSubscribe);
SAME_FUNCTION(cuptiUnsubscribe);
SAME_FUNCTION(cuptiEnableCallback);
SAME_FUNCTION(cuptiGetCallbackName);
SAME_FUNCTION(cuptiGetTimestamp);
SAME_FUNCTION(cuptiActivityRegisterCallbacks);
SAME_FUNCTION(cuptiActivityRegisterTimestampCallback);
SAME_FUNCTION(cuptiActivityEnable);
SAME_FUNCTION(cuptiActivityDisable);
SAME_FUNCTION(cuptiActivityGetNextRecord);
SAME_FUNCTION(cuptiActivityGetNumDroppedRecords);
SAME_FUNCTION(cuptiActivityFlushAll);
SAME_FUNCTION(cuptiActivityEnableLatencyTimestamps);
SAME_FUNCTION(cuptiActivityConfigureUnifiedMemoryCounter);
SAME_FUNCTION(cuptiFinalize);
SAME_FUNCTION(cuptiGetGraphNodeId);
SAME_FUNCTION(cuptiGetStreamIdEx);
SAME_FUNCTION(cuptiGetContextId);
SAME_FUNCTION(cuptiGetDeviceId);
#if CUPTI_API_VERSION >= 130000
SAME_VALUE(CUPTI_CBID_RESOURCE_GRAPH_NODE_UPDATED);
SAME_VALUE(CUPTI_CBID_RESOURCE_GRAPH_NODE_SET_PARAMS);
SAME_FUNCTION(cuptiGetGraphExecId);
#endif

// ---- activity records: every place that we have, in each struct that a library of CUDA 11.6 to 13 may write

#define SAME_KERNEL(theirs)                                             \
  SAME_PLACE_IN(KernelRecord, theirs, kind);                            \
  SAME_PLACE_IN(KernelRecord, theirs, cacheConfig);                     \
  SAME_PLACE_IN(KernelRecord, theirs, sharedMemoryConfig);              \
  SAME_PLACE_IN(KernelRecord, theirs, registersPerThread);              \
  SAME_PLACE_IN(KernelRecord, theirs, partitionedGlobalCacheRequested); \
  SAME_PLACE_IN(KernelRecord, theirs, partitionedGlobalCacheExecuted);  \
  SAME_PLACE_IN(KernelRecord, theirs, start);                           \
  SAME_PLACE_IN(KernelRecord, theirs, end);                             \
  SAME_PLACE_IN(KernelRecord, theirs, completed);                       \
  SAME_PLACE_IN(KernelRecord, theirs, deviceId);                        \
  SAME_PLACE_IN(KernelRecord, theirs, contextId);                       \
  SAME_PLACE_IN(KernelRecord, theirs, streamId);                        \
  SAME_PLACE_IN(KernelRecord, theirs, gridX);                           \
  SAME_PLACE_IN(KernelRecord, theirs, gridY);                           \
  SAME_PLACE_IN(KernelRecord, theirs, gridZ);                           \
  SAME_PLACE_IN(KernelRecord, theirs, blockX);                          \
  SAME_PLACE_IN(KernelRecord, theirs, blockY);                          \
  SAME_PLACE_IN(KernelRecord, theirs, blockZ);                          \
  SAME_PLACE_IN(KernelRecord, theirs, staticSharedMemory);              \
  SAME_PLACE_IN(KernelRecord, theirs, dynamicSharedMemory);             \
  SAME_PLACE_IN(KernelRecord, theirs, localMemoryPerThread);            \
  SAME_PLACE_IN(KernelRecord, theirs, localMemoryTotal);                \
  SAME_PLACE_IN(KernelRecord, theirs, correlationId);                   \
  SAME_PLACE_IN(KernelRecord, theirs, gridId);                          \
  SAME_PLACE_IN(KernelRecord, theirs, name);                            \
  SAME_PLACE_IN(KernelRecord, theirs, queued);                          \
  SAME_PLACE_IN(KernelRecord, theirs, submitted);                       \
  SAME_PLACE_IN(KernelRecord, theirs, launchType);                      \
  SAME_PLACE_IN(KernelRecord, theirs, isSharedMemoryCarveoutRequested); \
  SAME_PLACE_IN(KernelRecord, theirs, sharedMemoryCarveoutRequested);   \
  SAME_PLACE_IN(KernelRecord, theirs, sharedMemoryExecuted);            \
  SAME_PLACE_IN(KernelRecord, theirs, graphNodeId);                     \
  SAME_PLACE_IN(KernelRecord, theirs, shmemLimitConfig);                \
  SAME_PLACE_IN(KernelRecord, theirs, graphId);                         \
  SAME_PLACE_IN(KernelRecord, theirs, pAccessPolicyWindow);             \
  SAME_PLACE_IN(KernelRecord, theirs, channelID);                       \
  SAME_PLACE_IN(KernelRecord, theirs, channelType);                     \
  static_assert(sizeof(ours::KernelRecord) <= sizeof(::theirs), #theirs " is shorter than ours")

#define SAME_TRANSFER(name, theirs)           \
  SAME_PLACE_IN(name, theirs, kind);          \
  SAME_PLACE_IN(name, theirs, flags);         \
  SAME_PLACE_IN(name, theirs, bytes);         \
  SAME_PLACE_IN(name, theirs, start);         \
  SAME_PLACE_IN(name, theirs, end);           \
  SAME_PLACE_IN(name, theirs, deviceId);      \
  SAME_PLACE_IN(name, theirs, contextId);     \
  SAME_PLACE_IN(name, theirs, streamId);      \
  SAME_PLACE_IN(name, theirs, correlationId); \
  SAME_PLACE_IN(name, theirs, graphNodeId);   \
  SAME_PLACE_IN(name, theirs, graphId);       \
  SAME_PLACE_IN(name, theirs, channelID);     \
  SAME_PLACE_IN(name, theirs, channelType);   \
  static_assert(sizeof(ours::name) <= sizeof(::theirs), #theirs " is shorter than ours")
#define SAME_COPY(name, theirs)          \
  SAME_TRANSFER(name, theirs);           \
  SAME_PLACE_IN(name, theirs, copyKind); \
  SAME_PLACE_IN(name, theirs, srcKind);  \
  SAME_PLACE_IN(name, theirs, dstKind)

#define SAME_MEMORY(theirs)                                 \
  SAME_PLACE_IN(MemoryRecord, theirs, kind);                \
  SAME_PLACE_IN(MemoryRecord, theirs, memoryOperationType); \
  SAME_PLACE_IN(MemoryRecord, theirs, memoryKind);          \
  SAME_PLACE_IN(MemoryRecord, theirs, correlationId);       \
  SAME_PLACE_IN(MemoryRecord, theirs, address);             \
  SAME_PLACE_IN(MemoryRecord, theirs, bytes);               \
  SAME_PLACE_IN(MemoryRecord, theirs, timestamp);           \
  SAME_PLACE_IN(MemoryRecord, theirs, PC);                  \
  SAME_PLACE_IN(MemoryRecord, theirs, processId);           \
  SAME_PLACE_IN(MemoryRecord, theirs, deviceId);            \
  SAME_PLACE_IN(MemoryRecord, theirs, contextId);           \
  SAME_PLACE_IN(MemoryRecord, theirs, streamId);            \
  SAME_PLACE_IN(MemoryRecord, theirs, name);                \
  SAME_PLACE_IN(MemoryRecord, theirs, isAsync);             \
  static_assert(sizeof(ours::MemoryRecord) <= sizeof(::theirs), #theirs " is shorter than ours")

#define SAME_UNIFIED_MEMORY(theirs)                        \
  SAME_PLACE_IN(UnifiedMemoryRecord, theirs, kind);        \
  SAME_PLACE_IN(UnifiedMemoryRecord, theirs, counterKind); \
  SAME_PLACE_IN(UnifiedMemoryRecord, theirs, value);       \
  SAME_PLACE_IN(UnifiedMemoryRecord, theirs, start);       \
  SAME_PLACE_IN(UnifiedMemoryRecord, theirs, end);         \
  SAME_PLACE_IN(UnifiedMemoryRecord, theirs, address);     \
  SAME_PLACE_IN(UnifiedMemoryRecord, theirs, srcId);       \
  SAME_PLACE_IN(UnifiedMemoryRecord, theirs, dstId);       \
  SAME_PLACE_IN(UnifiedMemoryRecord, theirs, streamId);    \
  SAME_PLACE_IN(UnifiedMemoryRecord, theirs, processId);   \
  SAME_PLACE_IN(UnifiedMemoryRecord, theirs, flags);       \
  static_assert(sizeof(ours::UnifiedMemoryRecord) <= sizeof(::theirs), #theirs " is shorter than ours")

#define SAME_GRAPH(theirs)                           \
  SAME_PLACE_IN(GraphRecord, theirs, kind);          \
  SAME_PLACE_IN(GraphRecord, theirs, correlationId); \
  SAME_PLACE_IN(GraphRecord, theirs, start);         \
  SAME_PLACE_IN(GraphRecord, theirs, end);           \
  SAME_PLACE_IN(GraphRecord, theirs, deviceId);      \
  SAME_PLACE_IN(GraphRecord, theirs, graphId);       \
  SAME_PLACE_IN(GraphRecord, theirs, contextId);     \
  SAME_PLACE_IN(GraphRecord, theirs, streamId);      \
  static_assert(sizeof(ours::GraphRecord) <= sizeof(::theirs), #theirs " is shorter than ours")

SAME_KERNEL(CUpti_ActivityKernel7);
SAME_KERNEL(CUpti_ActivityKernel8);
SAME_KERNEL(CUpti_ActivityKernel9);
SAME_COPY(CopyRecord, CUpti_ActivityMemcpy5);
SAME_COPY(PeerCopyRecord, CUpti_ActivityMemcpyPtoP4);
SAME_TRANSFER(FillRecord, CUpti_ActivityMemset4);
SAME_MEMORY(CUpti_ActivityMemory3);
SAME_UNIFIED_MEMORY(CUpti_ActivityUnifiedMemoryCounter2);
SAME_GRAPH(CUpti_ActivityGraphTrace);
#if CUPTI_API_VERSION >= 130000
SAME_KERNEL(CUpti_ActivityKernel10);
SAME_COPY(CopyRecord, CUpti_ActivityMemcpy6);
SAME_MEMORY(CUpti_ActivityMemory4);
SAME_UNIFIED_MEMORY(CUpti_ActivityUnifiedMemoryCounter3);
SAME_GRAPH(CUpti_ActivityGraphTrace2);
#endif

// ---- PC sampling

PAIR(CUpti_PCSamplingCollectionMode);
PAIR(CUpti_PCSamplingOutputDataFormat);
PAIR(CUpti_PCSamplingConfigurationAttributeType);
PAIR(CUpti_PCSamplingStallReason);
PAIR(CUpti_PCSamplingPCData);
PAIR(CUpti_PCSamplingData);
PAIR(CUpti_PCSamplingConfigurationInfo);
PAIR(CUpti_PCSamplingConfigurationInfoParams);
PAIR(CUpti_PCSamplingGetDataParams);
PAIR(CUpti_PCSamplingStartParams);
PAIR(CUpti_PCSamplingStopParams);
PAIR(CUpti_PCSamplingEnableParams);
PAIR(CUpti_PCSamplingDisableParams);
PAIR(CUpti_PCSamplingGetNumStallReasonsParams);
PAIR(CUpti_PCSamplingGetStallReasonsParams);
PAIR(CUpti_GetCubinCrcParams);

SAME_VALUE(CUPTI_PC_SAMPLING_COLLECTION_MODE_CONTINUOUS);
SAME_VALUE(CUPTI_PC_SAMPLING_COLLECTION_MODE_KERNEL_SERIALIZED);
SAME_SIZE(CUpti_PCSamplingStartParams);
SAME_SIZE(CUpti_PCSamplingStopParams);
SAME_VALUE(CUPTI_PC_SAMPLING_OUTPUT_DATA_FORMAT_PARSED);
SAME_VALUE(CUPTI_PC_SAMPLING_CONFIGURATION_ATTR_TYPE_SAMPLING_PERIOD);
SAME_VALUE(CUPTI_PC_SAMPLING_CONFIGURATION_ATTR_TYPE_SCRATCH_BUFFER_SIZE);
SAME_VALUE(CUPTI_PC_SAMPLING_CONFIGURATION_ATTR_TYPE_COLLECTION_MODE);
SAME_VALUE(CUPTI_PC_SAMPLING_CONFIGURATION_ATTR_TYPE_ENABLE_START_STOP_CONTROL);
SAME_VALUE(CUPTI_PC_SAMPLING_CONFIGURATION_ATTR_TYPE_OUTPUT_DATA_FORMAT);
SAME_VALUE(CUPTI_PC_SAMPLING_CONFIGURATION_ATTR_TYPE_SAMPLING_DATA_BUFFER);
static_assert(ours::kStallReasonBytes == CUPTI_STALL_REASON_STRING_SIZE, "names of stall reasons have another size");
SAME_FIELD(CUpti_PCSamplingStallReason, pcSamplingStallReasonIndex);
SAME_FIELD(CUpti_PCSamplingStallReason, samples);
SAME_SIZE(CUpti_PCSamplingStallReason);
SAME_FIELD(CUpti_PCSamplingPCData, size);
SAME_FIELD(CUpti_PCSamplingPCData, cubinCrc);
SAME_FIELD(CUpti_PCSamplingPCData, pcOffset);
SAME_FIELD(CUpti_PCSamplingPCData, functionIndex);
SAME_FIELD(CUpti_PCSamplingPCData, functionName);
SAME_FIELD(CUpti_PCSamplingPCData, stallReasonCount);
SAME_FIELD(CUpti_PCSamplingPCData, stallReason);
#if CUPTI_API_VERSION >= 22
SAME_FIELD(CUpti_PCSamplingPCData, correlationId);
SAME_SIZE(CUpti_PCSamplingPCData);
#else
static_assert(offsetof(ours::CUpti_PCSamplingPCData, correlationId) == sizeof(::CUpti_PCSamplingPCData),
              "CUpti_PCSamplingPCData has another size");
#endif
SAME_FIELD(CUpti_PCSamplingData, size);
SAME_FIELD(CUpti_PCSamplingData, collectNumPcs);
SAME_FIELD(CUpti_PCSamplingData, totalSamples);
SAME_FIELD(CUpti_PCSamplingData, droppedSamples);
SAME_FIELD(CUpti_PCSamplingData, totalNumPcs);
SAME_FIELD(CUpti_PCSamplingData, remainingNumPcs);
SAME_FIELD(CUpti_PCSamplingData, rangeId);
SAME_FIELD(CUpti_PCSamplingData, pPcData);
SAME_FIELD(CUpti_PCSamplingData, nonUsrKernelsTotalSamples);
SAME_FIELD(CUpti_PCSamplingData, hardwareBufferFull);
SAME_SIZE(CUpti_PCSamplingData);
SAME_FIELD(CUpti_PCSamplingConfigurationInfo, attributeType);
SAME_FIELD(CUpti_PCSamplingConfigurationInfo, attributeStatus);
SAME_PLACE(CUpti_PCSamplingConfigurationInfo, attributeData);
SAME_PLACE(CUpti_PCSamplingConfigurationInfo, attributeData.samplingPeriodData.samplingPeriod);
SAME_PLACE(CUpti_PCSamplingConfigurationInfo, attributeData.scratchBufferSizeData.scratchBufferSize);
SAME_PLACE(CUpti_PCSamplingConfigurationInfo, attributeData.collectionModeData.collectionMode);
SAME_PLACE(CUpti_PCSamplingConfigurationInfo, attributeData.enableStartStopControlData.enableStartStopControl);
SAME_PLACE(CUpti_PCSamplingConfigurationInfo, attributeData.outputDataFormatData.outputDataFormat);
SAME_PLACE(CUpti_PCSamplingConfigurationInfo, attributeData.samplingDataBufferData.samplingDataBuffer);
SAME_SIZE(CUpti_PCSamplingConfigurationInfo);
SAME_FIELD(CUpti_PCSamplingConfigurationInfoParams, size);
SAME_FIELD(CUpti_PCSamplingConfigurationInfoParams, pPriv);
SAME_FIELD(CUpti_PCSamplingConfigurationInfoParams, ctx);
SAME_FIELD(CUpti_PCSamplingConfigurationInfoParams, numAttributes);
SAME_FIELD(CUpti_PCSamplingConfigurationInfoParams, pPCSamplingConfigurationInfo);
SAME_SIZE(CUpti_PCSamplingConfigurationInfoParams);
SAME_FIELD(CUpti_PCSamplingGetDataParams, size);
SAME_FIELD(CUpti_PCSamplingGetDataParams, pPriv);
SAME_FIELD(CUpti_PCSamplingGetDataParams, ctx);
SAME_FIELD(CUpti_PCSamplingGetDataParams, pcSamplingData);
SAME_SIZE(CUpti_PCSamplingGetDataParams);
SAME_FIELD(CUpti_PCSamplingEnableParams, size);
SAME_FIELD(CUpti_PCSamplingEnableParams, pPriv);
SAME_FIELD(CUpti_PCSamplingEnableParams, ctx);
SAME_SIZE(CUpti_PCSamplingEnableParams);
SAME_FIELD(CUpti_PCSamplingDisableParams, size);
SAME_FIELD(CUpti_PCSamplingDisableParams, pPriv);
SAME_FIELD(CUpti_PCSamplingDisableParams, ctx);
SAME_SIZE(CUpti_PCSamplingDisableParams);
SAME_FIELD(CUpti_PCSamplingGetNumStallReasonsParams, size);
SAME_FIELD(CUpti_PCSamplingGetNumStallReasonsParams, pPriv);
SAME_FIELD(CUpti_PCSamplingGetNumStallReasonsParams, ctx);
SAME_FIELD(CUpti_PCSamplingGetNumStallReasonsParams, numStallReasons);
SAME_SIZE(CUpti_PCSamplingGetNumStallReasonsParams);
SAME_FIELD(CUpti_PCSamplingGetStallReasonsParams, size);
SAME_FIELD(CUpti_PCSamplingGetStallReasonsParams, pPriv);
SAME_FIELD(CUpti_PCSamplingGetStallReasonsParams, ctx);
SAME_FIELD(CUpti_PCSamplingGetStallReasonsParams, numStallReasons);
SAME_FIELD(CUpti_PCSamplingGetStallReasonsParams, stallReasonIndex);
SAME_FIELD(CUpti_PCSamplingGetStallReasonsParams, stallReasons);
SAME_SIZE(CUpti_PCSamplingGetStallReasonsParams);
SAME_FIELD(CUpti_GetCubinCrcParams, size);
SAME_FIELD(CUpti_GetCubinCrcParams, cubinSize);
SAME_FIELD(CUpti_GetCubinCrcParams, cubin);
SAME_FIELD(CUpti_GetCubinCrcParams, cubinCrc);
SAME_SIZE(CUpti_GetCubinCrcParams);
SAME_FUNCTION(cuptiPCSamplingSetConfigurationAttribute);
SAME_FUNCTION(cuptiPCSamplingGetConfigurationAttribute);
SAME_FUNCTION(cuptiPCSamplingGetData);
SAME_FUNCTION(cuptiPCSamplingEnable);
SAME_FUNCTION(cuptiPCSamplingDisable);
SAME_FUNCTION(cuptiPCSamplingGetNumStallReasons);
SAME_FUNCTION(cuptiPCSamplingGetStallReasons);
SAME_FUNCTION(cuptiGetCubinCrc);

// ---- NVTX

PAIR(nvtxDomainRegistration_st);
PAIR(nvtxStringRegistration_st);
PAIR(nvtxEventAttributes_t);
PAIR(NvtxCallbackModule);

SAME_TYPE(nvtxDomainHandle_t);
SAME_TYPE(nvtxStringHandle_t);
SAME_TYPE(nvtxRangeId_t);
SAME_VALUE(NVTX_MESSAGE_TYPE_ASCII);
SAME_VALUE(NVTX_MESSAGE_TYPE_UNICODE);
SAME_VALUE(NVTX_MESSAGE_TYPE_REGISTERED);
SAME_FIELD(nvtxEventAttributes_t, version);
SAME_FIELD(nvtxEventAttributes_t, size);
SAME_FIELD(nvtxEventAttributes_t, category);
SAME_PLACE(nvtxEventAttributes_t, payload);
SAME_FIELD(nvtxEventAttributes_t, messageType);
SAME_PLACE(nvtxEventAttributes_t, message);
SAME_SIZE(nvtxEventAttributes_t);
SAME_VALUE(NVTX_ETID_CALLBACKS);
SAME_VALUE(NVTX_CB_MODULE_CORE);
SAME_VALUE(NVTX_CB_MODULE_CORE2);
SAME_VALUE(NVTX_CBID_CORE_RangeStartEx);
SAME_VALUE(NVTX_CBID_CORE_RangeStartA);
SAME_VALUE(NVTX_CBID_CORE_RangeStartW);
SAME_VALUE(NVTX_CBID_CORE_RangeEnd);
SAME_VALUE(NVTX_CBID_CORE_RangePushEx);
SAME_VALUE(NVTX_CBID_CORE_RangePushA);
SAME_VALUE(NVTX_CBID_CORE_RangePushW);
SAME_VALUE(NVTX_CBID_CORE_RangePop);
SAME_VALUE(NVTX_CBID_CORE2_DomainRangeStartEx);
SAME_VALUE(NVTX_CBID_CORE2_DomainRangeEnd);
SAME_VALUE(NVTX_CBID_CORE2_DomainRangePushEx);
SAME_VALUE(NVTX_CBID_CORE2_DomainRangePop);
SAME_VALUE(NVTX_CBID_CORE2_DomainRegisterStringA);
SAME_VALUE(NVTX_CBID_CORE2_DomainRegisterStringW);
SAME_VALUE(NVTX_CBID_CORE2_DomainCreateA);
SAME_VALUE(NVTX_CBID_CORE2_DomainCreateW);
SAME_VALUE(NVTX_CBID_CORE2_DomainDestroy);
SAME_FIELD(NvtxExportTableCallbacks, struct_size);
SAME_FIELD(NvtxExportTableCallbacks, GetModuleFunctionTable);
SAME_SIZE(NvtxExportTableCallbacks);
SAME_TYPE(NvtxFunctionTable);
SAME_TYPE(NvtxGetExportTableFunc_t);
SAME_TYPE(NvtxInitializeInjectionNvtxFunc_t);
static_assert(ours::kNvtxPayloadModule == NVTX_EXT_PAYLOAD_MODULEID);
static_assert(ours::NVTX_CBID_PAYLOAD_RangePush == NVTX3EXT_CBID_nvtxRangePushPayload);
static_assert(ours::NVTX_CBID_PAYLOAD_RangePop == NVTX3EXT_CBID_nvtxRangePopPayload);
static_assert(ours::NVTX_CBID_PAYLOAD_RangeStart == NVTX3EXT_CBID_nvtxRangeStartPayload);
static_assert(ours::NVTX_CBID_PAYLOAD_RangeEnd == NVTX3EXT_CBID_nvtxRangeEndPayload);
SAME_TYPE(nvtxRangeStartEx_impl_fntype);
SAME_TYPE(nvtxRangeStartA_impl_fntype);
SAME_TYPE(nvtxRangeStartW_impl_fntype);
SAME_TYPE(nvtxRangeEnd_impl_fntype);
SAME_TYPE(nvtxRangePushEx_impl_fntype);
SAME_TYPE(nvtxRangePushA_impl_fntype);
SAME_TYPE(nvtxRangePushW_impl_fntype);
SAME_TYPE(nvtxRangePop_impl_fntype);
SAME_TYPE(nvtxDomainRangeStartEx_impl_fntype);
SAME_TYPE(nvtxDomainRangeEnd_impl_fntype);
SAME_TYPE(nvtxDomainRangePushEx_impl_fntype);
SAME_TYPE(nvtxDomainRangePop_impl_fntype);
SAME_TYPE(nvtxDomainRegisterStringA_impl_fntype);
SAME_TYPE(nvtxDomainRegisterStringW_impl_fntype);
SAME_TYPE(nvtxDomainCreateA_impl_fntype);
SAME_TYPE(nvtxDomainCreateW_impl_fntype);
SAME_TYPE(nvtxDomainDestroy_impl_fntype);

// NOLINTEND(bugprone-sizeof-expression)

// ---- SASS metrics

PAIR(CUpti_Profiler_Initialize_Params);
PAIR(CUpti_Device_GetChipName_Params);
PAIR(CUpti_SassMetrics_MetricDetails);
PAIR(CUpti_SassMetrics_GetProperties_Params);
PAIR(CUpti_SassMetrics_Config);
PAIR(CUpti_SassMetricsSetConfig_Params);
PAIR(CUpti_SassMetricsEnable_Params);
PAIR(CUpti_SassMetricsDisable_Params);
PAIR(CUpti_SassMetricsGetDataProperties_Params);
PAIR(CUpti_SassMetrics_InstanceValue);
PAIR(CUpti_SassMetrics_Data);
PAIR(CUpti_SassMetricsFlushData_Params);
SAME_FIELD(CUpti_Profiler_Initialize_Params, structSize);
SAME_FIELD(CUpti_Profiler_Initialize_Params, pPriv);
SAME_SIZE(CUpti_Profiler_Initialize_Params);
SAME_FIELD(CUpti_Device_GetChipName_Params, structSize);
SAME_FIELD(CUpti_Device_GetChipName_Params, pPriv);
SAME_FIELD(CUpti_Device_GetChipName_Params, deviceIndex);
SAME_FIELD(CUpti_Device_GetChipName_Params, pChipName);
SAME_SIZE(CUpti_Device_GetChipName_Params);
SAME_FIELD(CUpti_SassMetrics_MetricDetails, metricId);
SAME_FIELD(CUpti_SassMetrics_MetricDetails, pMetricName);
SAME_FIELD(CUpti_SassMetrics_MetricDetails, pMetricDescription);
SAME_SIZE(CUpti_SassMetrics_MetricDetails);
SAME_FIELD(CUpti_SassMetrics_GetProperties_Params, structSize);
SAME_FIELD(CUpti_SassMetrics_GetProperties_Params, pPriv);
SAME_FIELD(CUpti_SassMetrics_GetProperties_Params, pChipName);
SAME_FIELD(CUpti_SassMetrics_GetProperties_Params, pMetricName);
SAME_SIZE(CUpti_SassMetrics_GetProperties_Params);
SAME_FIELD(CUpti_SassMetrics_Config, metricId);
SAME_FIELD(CUpti_SassMetrics_Config, outputGranularity);
SAME_SIZE(CUpti_SassMetrics_Config);
SAME_FIELD(CUpti_SassMetricsSetConfig_Params, structSize);
SAME_FIELD(CUpti_SassMetricsSetConfig_Params, pPriv);
SAME_FIELD(CUpti_SassMetricsSetConfig_Params, numOfMetricConfig);
SAME_FIELD(CUpti_SassMetricsSetConfig_Params, deviceIndex);
SAME_SIZE(CUpti_SassMetricsSetConfig_Params);
SAME_FIELD(CUpti_SassMetricsEnable_Params, structSize);
SAME_FIELD(CUpti_SassMetricsEnable_Params, pPriv);
SAME_FIELD(CUpti_SassMetricsEnable_Params, enableLazyPatching);
SAME_SIZE(CUpti_SassMetricsEnable_Params);
SAME_FIELD(CUpti_SassMetricsDisable_Params, structSize);
SAME_FIELD(CUpti_SassMetricsDisable_Params, pPriv);
SAME_FIELD(CUpti_SassMetricsDisable_Params, numOfDroppedRecords);
SAME_SIZE(CUpti_SassMetricsDisable_Params);
SAME_FIELD(CUpti_SassMetricsGetDataProperties_Params, structSize);
SAME_FIELD(CUpti_SassMetricsGetDataProperties_Params, pPriv);
SAME_FIELD(CUpti_SassMetricsGetDataProperties_Params, numOfPatchedInstructionRecords);
SAME_FIELD(CUpti_SassMetricsGetDataProperties_Params, numOfInstances);
SAME_SIZE(CUpti_SassMetricsGetDataProperties_Params);
SAME_FIELD(CUpti_SassMetrics_InstanceValue, metricId);
SAME_FIELD(CUpti_SassMetrics_InstanceValue, value);
SAME_SIZE(CUpti_SassMetrics_InstanceValue);
SAME_FIELD(CUpti_SassMetrics_Data, structSize);
SAME_FIELD(CUpti_SassMetrics_Data, pPriv);
SAME_FIELD(CUpti_SassMetrics_Data, cubinCrc);
SAME_FIELD(CUpti_SassMetrics_Data, functionIndex);
SAME_FIELD(CUpti_SassMetrics_Data, functionName);
SAME_FIELD(CUpti_SassMetrics_Data, pcOffset);
SAME_SIZE(CUpti_SassMetrics_Data);
SAME_FIELD(CUpti_SassMetricsFlushData_Params, structSize);
SAME_FIELD(CUpti_SassMetricsFlushData_Params, pPriv);
SAME_FIELD(CUpti_SassMetricsFlushData_Params, numOfPatchedInstructionRecords);
SAME_FIELD(CUpti_SassMetricsFlushData_Params, numOfInstances);
SAME_SIZE(CUpti_SassMetricsFlushData_Params);
SAME_PLACE(CUpti_SassMetrics_Data, pInstanceValues);
SAME_PLACE(CUpti_SassMetricsSetConfig_Params, pConfigs);
SAME_PLACE(CUpti_SassMetricsFlushData_Params, pMetricsData);

}  // namespace
