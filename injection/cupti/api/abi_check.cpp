// Compares the declarations of this folder with NVIDIA's headers. Built only if the headers are available. It contains
// only compile-time checks, so it is never linked.
#include "cupti/activity/records.h"
#include "cupti/api/call_params_abi.h"
#include "cupti/api/cuda_abi.h"
#include "cupti/api/cupti_abi.h"
#include "cupti/api/nvtx_abi.h"
#include "cupti/api/pc_sampling_abi.h"
#include "cupti/api/sass_metrics_abi.h"

// cuda.h must follow gpuprof's headers, because it defines some of their names as macros. The macro below makes cuda.h
// declare older functions, too.
#define __CUDA_API_VERSION_INTERNAL  // defined by cuda.h
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

#include <cstddef>
#include <type_traits>

namespace ours = gpuprof::injection::cupti;

namespace {

// NOLINTBEGIN(bugprone-sizeof-expression): the sizes of pointers are meant

// Maps a gpuprof type to NVIDIA's type. The pairs below map named types; pointers and functions follow from these.
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

// Expands to check(name, theirs, item) for each item. `theirs`: NVIDIA's type.
#define FOR_EACH(check, name, theirs, ...) EXPAND(FOR_EACH_NEXT(check, name, theirs, __VA_ARGS__))
#define FOR_EACH_NEXT(check, name, theirs, item, ...) \
  check(name, theirs, item) __VA_OPT__(; FOR_EACH_AGAIN PARENTHESES(check, name, theirs, __VA_ARGS__))
#define FOR_EACH_AGAIN() FOR_EACH_NEXT
#define PARENTHESES ()
#define EXPAND(...) EXPAND_16(EXPAND_16(EXPAND_16(EXPAND_16(__VA_ARGS__))))  // EXPAND handles at least 64 items.
#define EXPAND_16(...) EXPAND_4(EXPAND_4(EXPAND_4(EXPAND_4(__VA_ARGS__))))
#define EXPAND_4(...) EXPAND_1(EXPAND_1(EXPAND_1(EXPAND_1(__VA_ARGS__))))
#define EXPAND_1(...) __VA_ARGS__

#define PAIR(name, theirs, type) \
  template <>                    \
  struct Theirs<ours::type> {    \
    using Type = ::type;         \
  }
#define PAIRS(...) FOR_EACH(PAIR, , , __VA_ARGS__)

#define SAME_VALUE(name, theirs, value) \
  static_assert(static_cast<long long>(ours::value) == static_cast<long long>(::value), #value " has another value")
#define SAME_VALUES(...) FOR_EACH(SAME_VALUE, , , __VA_ARGS__)

#define SAME_SIZE(name) static_assert(sizeof(ours::name) == sizeof(::name), #name " has another size")

#define SAME_PLACE(name, theirs, field)                                     \
  static_assert(offsetof(ours::name, field) == offsetof(::theirs, field) && \
                    sizeof(ours::name::field) == sizeof(::theirs::field),   \
                #theirs " has " #field " elsewhere")
#define SAME_PLACES_IN(name, theirs, ...) FOR_EACH(SAME_PLACE, name, theirs, __VA_ARGS__)
#define SAME_PLACES(name, ...) SAME_PLACES_IN(name, name, __VA_ARGS__)

#define SAME_FIELD(name, theirs, field) \
  SAME_PLACE(name, theirs, field);      \
  static_assert(std::is_same_v<Theirs<decltype(ours::name::field)>::Type, decltype(::name::field)>, #name "::" #field)
#define SAME_FIELDS(name, ...) FOR_EACH(SAME_FIELD, name, name, __VA_ARGS__)
#define SAME_STRUCT(name, ...)    \
  SAME_FIELDS(name, __VA_ARGS__); \
  SAME_SIZE(name)

#define SAME_FUNCTION(name, theirs, function)                                                 \
  static_assert(std::is_same_v<Theirs<decltype(ours::function)>::Type, decltype(::function)>, \
                #function " has other arguments")
#define SAME_FUNCTIONS(...) FOR_EACH(SAME_FUNCTION, , , __VA_ARGS__)

#define SAME_TYPE(name, theirs, type) \
  static_assert(std::is_same_v<Theirs<ours::type>::Type, ::type>, #type " is another type")
#define SAME_TYPES(...) FOR_EACH(SAME_TYPE, , , __VA_ARGS__)

// ---- libcuda

PAIRS(CUctx_st, CUfunc_st, CUkern_st, CUmod_st, CUlinkState_st, CUstream_st, CUdevice_attribute, CUfunction_attribute,
      CUjit_option, CUjitInputType, CUstreamCaptureMode, CUgraph_st, CUgraphNode_st, CUgraphExec_st, CUresult, CUuuid,
      CUgraphNodeType, CUDA_KERNEL_NODE_PARAMS_v1, CUDA_KERNEL_NODE_PARAMS_v2);
#if CUDA_VERSION >= 12020
PAIRS(CUgraphNodeParams);
#endif

SAME_TYPES(CUdevice, CUdeviceptr, CUcontext, CUfunction, CUkernel, CUmodule, CUlinkState, CUstream, CUgraph,
           CUgraphNode, CUgraphExec);

SAME_SIZE(CUresult);
SAME_VALUES(CUDA_SUCCESS);
SAME_SIZE(CUuuid);
SAME_SIZE(CUgraphNodeType);
SAME_VALUES(CU_GRAPH_NODE_TYPE_KERNEL, CU_GRAPH_NODE_TYPE_MEMCPY, CU_GRAPH_NODE_TYPE_MEMSET, CU_GRAPH_NODE_TYPE_HOST,
            CU_GRAPH_NODE_TYPE_GRAPH, CU_GRAPH_NODE_TYPE_EMPTY, CU_GRAPH_NODE_TYPE_WAIT_EVENT,
            CU_GRAPH_NODE_TYPE_EVENT_RECORD, CU_GRAPH_NODE_TYPE_EXT_SEMAS_SIGNAL, CU_GRAPH_NODE_TYPE_EXT_SEMAS_WAIT,
            CU_GRAPH_NODE_TYPE_MEM_ALLOC, CU_GRAPH_NODE_TYPE_MEM_FREE, CU_GRAPH_NODE_TYPE_BATCH_MEM_OP);
#if CUDA_VERSION >= 12030
SAME_VALUES(CU_GRAPH_NODE_TYPE_CONDITIONAL);
#endif

#define SAME_KERNEL_NODE(name)                                                                                         \
  SAME_STRUCT(name, func, gridDimX, gridDimY, gridDimZ, blockDimX, blockDimY, blockDimZ, sharedMemBytes, kernelParams, \
              extra)
SAME_KERNEL_NODE(CUDA_KERNEL_NODE_PARAMS_v1);
SAME_KERNEL_NODE(CUDA_KERNEL_NODE_PARAMS_v2);
SAME_FIELDS(CUDA_KERNEL_NODE_PARAMS_v2, kern, ctx);

#if CUDA_VERSION >= 12020
SAME_FIELDS(CUgraphNodeParams, type);
SAME_PLACES(CUgraphNodeParams, kernel, reserved2);
SAME_SIZE(CUgraphNodeParams);
// NVIDIA's type of the member `kernel` is CUDA_KERNEL_NODE_PARAMS_v3, which has the same fields as v2.
SAME_PLACES_IN(CUDA_KERNEL_NODE_PARAMS_v2, CUDA_KERNEL_NODE_PARAMS_v3, func, kernelParams, extra, kern, ctx);
#endif

SAME_VALUES(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR,
            CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK,
            CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT,
            CU_JIT_WALL_TIME, CU_JIT_INFO_LOG_BUFFER, CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES, CU_JIT_ERROR_LOG_BUFFER,
            CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES, CU_JIT_TARGET_FROM_CUCONTEXT, CU_JIT_TARGET, CU_JIT_LOG_VERBOSE,
            CU_JIT_GENERATE_LINE_INFO, CU_JIT_CACHE_MODE, CU_JIT_INPUT_PTX, CU_LIBRARY_BINARY_IS_PRESERVED,
            CU_STREAM_CAPTURE_MODE_RELAXED, CU_LAUNCH_ATTRIBUTE_COOPERATIVE, CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION);
SAME_PLACES(CUlaunchAttribute, id, value);
SAME_SIZE(CUlaunchAttribute);
SAME_PLACES(CUlaunchConfig, gridDimX, gridDimY, gridDimZ, blockDimX, blockDimY, blockDimZ, sharedMemBytes, hStream,
            attrs, numAttrs);
SAME_SIZE(CUlaunchConfig);

SAME_FUNCTIONS(cuDriverGetVersion, cuDeviceGetCount, cuDeviceGet, cuDeviceGetName, cuDeviceGetUuid, cuDeviceGetUuid_v2);
#if CUDA_VERSION >= 12030
SAME_FUNCTIONS(cuFuncGetName, cuKernelGetName);
#endif

SAME_FUNCTIONS(cuDeviceGetAttribute, cuCtxGetDevice, cuCtxPushCurrent_v2, cuCtxPopCurrent_v2, cuLinkCreate_v2,
               cuLinkAddData_v2, cuLinkComplete, cuLinkDestroy, cuModuleGetFunction, cuFuncGetModule,
               cuKernelGetFunction, cuFuncGetAttribute, cuFuncSetAttribute, cuFuncGetParamInfo,
               cuOccupancyMaxActiveBlocksPerMultiprocessor, cuMemAlloc_v2, cuMemcpyDtoHAsync_v2,
               cuStreamCreateWithPriority, cuStreamSynchronize, cuThreadExchangeStreamCaptureMode);

// ---- arguments of libcuda's functions

SAME_PLACES(cuLaunchKernel_params, f, gridDimX, gridDimY, gridDimZ, blockDimX, blockDimY, blockDimZ, sharedMemBytes,
            hStream, kernelParams, extra);
SAME_PLACES_IN(cuLaunchKernel_params, cuLaunchKernel_ptsz_params, f, gridDimX, sharedMemBytes, kernelParams, extra);
SAME_PLACES(cuLaunchKernelEx_params, config, f, kernelParams, extra);
SAME_PLACES_IN(cuLaunchKernelEx_params, cuLaunchKernelEx_ptsz_params, config, f, kernelParams, extra);
SAME_PLACES(cuLibraryLoadData_params, library, code, jitOptions, jitOptionsValues, numJitOptions, libraryOptions,
            libraryOptionValues, numLibraryOptions);
SAME_PLACES(cuModuleLoadDataEx_params, module, image, numOptions, options, optionValues);
SAME_PLACES_IN(cuModuleLoadDataEx_params, cuModuleLoadData_params, module, image);

SAME_SIZE(cuStreamSynchronize_params);
SAME_FIELDS(cuStreamSynchronize_params, hStream);
SAME_SIZE(cuGraphLaunch_params);  // The first argument is not compared, because newer headers give it another name.
SAME_FIELDS(cuGraphLaunch_params, hStream);
SAME_PLACES_IN(cuGraphLaunch_params, cuGraphLaunch_ptsz_params, hStream);

#define SAME_ADDED_NODE(name)                                            \
  SAME_FIELDS(name, phGraphNode, hGraph, dependencies, numDependencies); \
  SAME_PLACES(name, nodeParams);                                         \
  SAME_SIZE(name)
SAME_ADDED_NODE(cuGraphAddKernelNode_params);
SAME_ADDED_NODE(cuGraphAddKernelNode_v2_params);
#if CUDA_VERSION >= 12020
SAME_ADDED_NODE(cuGraphAddNode_params);
#endif
#if CUDA_VERSION >= 12030
SAME_ADDED_NODE(cuGraphAddNode_v2_params);
SAME_PLACES(cuGraphAddNode_v2_params, dependencyData);
#endif
SAME_FIELDS(cuGraphAddKernelNode_params, nodeParams);

SAME_FIELDS(cuGraphKernelNodeSetParams_params, hNode, nodeParams);
SAME_FIELDS(cuGraphKernelNodeSetParams_v2_params, hNode, nodeParams);
#if CUDA_VERSION >= 12020
SAME_FIELDS(cuGraphNodeSetParams_params, hNode, nodeParams);
#endif
SAME_FIELDS(cuGraphExecKernelNodeSetParams_params, hGraphExec, hNode, nodeParams);
SAME_FIELDS(cuGraphExecKernelNodeSetParams_v2_params, hGraphExec, hNode, nodeParams);
#if CUDA_VERSION >= 12020
SAME_FIELDS(cuGraphExecNodeSetParams_params, hGraphExec, hNode, nodeParams);
#endif

// ---- libcupti

PAIRS(CUptiResult, CUpti_ApiCallbackSite, CUpti_CallbackDomain, CUpti_Subscriber_st, CUpti_ActivityKind, CUpti_Activity,
      CUpti_ActivityUnifiedMemoryCounterScope, CUpti_ActivityUnifiedMemoryCounterKind,
      CUpti_ActivityUnifiedMemoryCounterConfig);

SAME_SIZE(CUptiResult);
SAME_VALUES(CUPTI_SUCCESS, CUPTI_ERROR_INVALID_OPERATION, CUPTI_ERROR_OUT_OF_MEMORY, CUPTI_ERROR_MAX_LIMIT_REACHED,
            CUPTI_ERROR_NOT_COMPATIBLE, CUPTI_ERROR_HARDWARE_BUSY, CUPTI_ERROR_NOT_SUPPORTED,
            CUPTI_ERROR_VIRTUALIZED_DEVICE_NOT_SUPPORTED, CUPTI_ERROR_INSUFFICIENT_PRIVILEGES,
            CUPTI_ERROR_LEGACY_PROFILER_NOT_SUPPORTED, CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED,
            CUPTI_ERROR_VIRTUALIZED_DEVICE_INSUFFICIENT_PRIVILEGES);
#if CUPTI_API_VERSION >= 20
SAME_VALUES(CUPTI_ERROR_CONFIDENTIAL_COMPUTING_NOT_SUPPORTED, CUPTI_ERROR_CMP_DEVICE_NOT_SUPPORTED,
            CUPTI_ERROR_MIG_DEVICE_NOT_SUPPORTED, CUPTI_ERROR_SLI_DEVICE_NOT_SUPPORTED,
            CUPTI_ERROR_WSL_DEVICE_NOT_SUPPORTED);
#endif

SAME_SIZE(CUpti_ApiCallbackSite);
SAME_VALUES(CUPTI_API_ENTER, CUPTI_API_EXIT);
SAME_SIZE(CUpti_CallbackDomain);
SAME_VALUES(CUPTI_CB_DOMAIN_DRIVER_API, CUPTI_CB_DOMAIN_RUNTIME_API, CUPTI_CB_DOMAIN_RESOURCE,
            CUPTI_CBID_RESOURCE_CONTEXT_CREATED, CUPTI_CBID_RESOURCE_CONTEXT_DESTROY_STARTING,
            CUPTI_CBID_RESOURCE_MODULE_PROFILED, CUPTI_CBID_RESOURCE_MODULE_LOADED,
            CUPTI_CBID_RESOURCE_MODULE_UNLOAD_STARTING, CUPTI_CBID_RESOURCE_GRAPH_CREATED,
            CUPTI_CBID_RESOURCE_GRAPH_DESTROY_STARTING, CUPTI_CBID_RESOURCE_GRAPH_CLONED,
            CUPTI_CBID_RESOURCE_GRAPHNODE_CREATE_STARTING, CUPTI_CBID_RESOURCE_GRAPHNODE_CREATED,
            CUPTI_CBID_RESOURCE_GRAPHNODE_DESTROY_STARTING, CUPTI_CBID_RESOURCE_GRAPHNODE_DEPENDENCY_CREATED,
            CUPTI_CBID_RESOURCE_GRAPHNODE_DEPENDENCY_DESTROY_STARTING, CUPTI_CBID_RESOURCE_GRAPHEXEC_CREATE_STARTING,
            CUPTI_CBID_RESOURCE_GRAPHEXEC_CREATED, CUPTI_CBID_RESOURCE_GRAPHEXEC_DESTROY_STARTING,
            CUPTI_CBID_RESOURCE_GRAPHNODE_CLONED);

SAME_FIELDS(CUpti_CallbackData, callbackSite, functionName, functionParams, functionReturnValue, symbolName, context,
            contextUid, correlationData, correlationId);
SAME_FIELDS(CUpti_ResourceData, context);
SAME_PLACES(CUpti_ResourceData, resourceHandle);
SAME_FIELDS(CUpti_ResourceData, resourceDescriptor);
SAME_FIELDS(CUpti_ModuleResourceData, moduleId, cubinSize, pCubin);
SAME_FIELDS(CUpti_GraphData, graph, originalGraph, node, originalNode, nodeType, dependency, graphExec);

SAME_TYPES(CUpti_CallbackId, CUpti_SubscriberHandle, CUpti_CallbackFunc, CUpti_BuffersCallbackRequestFunc,
           CUpti_BuffersCallbackCompleteFunc, CUpti_TimestampCallbackFunc);

SAME_VALUES(CUPTI_ACTIVITY_KIND_MEMCPY, CUPTI_ACTIVITY_KIND_MEMSET, CUPTI_ACTIVITY_KIND_KERNEL,
            CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, CUPTI_ACTIVITY_KIND_MEMCPY2,
            CUPTI_ACTIVITY_KIND_UNIFIED_MEMORY_COUNTER, CUPTI_ACTIVITY_KIND_MEMORY2, CUPTI_ACTIVITY_KIND_GRAPH_TRACE);
SAME_SIZE(CUpti_ActivityKind);
SAME_VALUES(CUPTI_ACTIVITY_MEMCPY_KIND_HTOD, CUPTI_ACTIVITY_MEMCPY_KIND_DTOH, CUPTI_ACTIVITY_MEMCPY_KIND_HTOA,
            CUPTI_ACTIVITY_MEMCPY_KIND_ATOH, CUPTI_ACTIVITY_MEMCPY_KIND_ATOA, CUPTI_ACTIVITY_MEMCPY_KIND_ATOD,
            CUPTI_ACTIVITY_MEMCPY_KIND_DTOA, CUPTI_ACTIVITY_MEMCPY_KIND_DTOD, CUPTI_ACTIVITY_MEMCPY_KIND_HTOH,
            CUPTI_ACTIVITY_MEMCPY_KIND_PTOP, CUPTI_ACTIVITY_MEMORY_OPERATION_TYPE_ALLOCATION,
            CUPTI_ACTIVITY_MEMORY_OPERATION_TYPE_RELEASE,
            CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_SCOPE_PROCESS_SINGLE_DEVICE,
            CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_BYTES_TRANSFER_HTOD,
            CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_BYTES_TRANSFER_DTOH,
            CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_CPU_PAGE_FAULT_COUNT,
            CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_GPU_PAGE_FAULT, CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
SAME_STRUCT(CUpti_ActivityUnifiedMemoryCounterConfig, scope, kind, deviceId, enable);
SAME_STRUCT(CUpti_Activity, kind);

SAME_FUNCTIONS(cuptiGetVersion, cuptiGetResultString, cuptiSubscribe, cuptiUnsubscribe, cuptiEnableCallback,
               cuptiGetCallbackName, cuptiGetTimestamp, cuptiActivityRegisterCallbacks,
               cuptiActivityRegisterTimestampCallback, cuptiActivityEnable, cuptiActivityDisable,
               cuptiActivityGetNextRecord, cuptiActivityGetNumDroppedRecords, cuptiActivityFlushAll,
               cuptiActivityEnableLatencyTimestamps, cuptiActivityConfigureUnifiedMemoryCounter, cuptiFinalize,
               cuptiGetGraphNodeId, cuptiGetStreamIdEx, cuptiGetContextId, cuptiGetDeviceId);
#if CUPTI_API_VERSION >= 130000
SAME_VALUES(CUPTI_CBID_RESOURCE_GRAPH_NODE_UPDATED, CUPTI_CBID_RESOURCE_GRAPH_NODE_SET_PARAMS);
SAME_FUNCTIONS(cuptiGetGraphExecId);
#endif

// ---- activity records: all declared fields, in every struct that CUDA 11.6 to 13 may write

#define SAME_KERNEL(theirs)                                                                                        \
  SAME_PLACES_IN(KernelRecord, theirs, kind, cacheConfig, sharedMemoryConfig, registersPerThread,                  \
                 partitionedGlobalCacheRequested, partitionedGlobalCacheExecuted, start, end, completed, deviceId, \
                 contextId, streamId, gridX, gridY, gridZ, blockX, blockY, blockZ, staticSharedMemory,             \
                 dynamicSharedMemory, localMemoryPerThread, localMemoryTotal, correlationId, gridId, name, queued, \
                 submitted, launchType, isSharedMemoryCarveoutRequested, sharedMemoryCarveoutRequested,            \
                 sharedMemoryExecuted, graphNodeId, shmemLimitConfig, graphId, pAccessPolicyWindow, channelID,     \
                 channelType);                                                                                     \
  static_assert(sizeof(ours::KernelRecord) <= sizeof(::theirs), #theirs " is shorter than ours")

#define SAME_TRANSFER(name, theirs)                                                                          \
  SAME_PLACES_IN(name, theirs, kind, flags, bytes, start, end, deviceId, contextId, streamId, correlationId, \
                 graphNodeId, graphId, channelID, channelType);                                              \
  static_assert(sizeof(ours::name) <= sizeof(::theirs), #theirs " is shorter than ours")
#define SAME_COPY(name, theirs) \
  SAME_TRANSFER(name, theirs);  \
  SAME_PLACES_IN(name, theirs, copyKind, srcKind, dstKind)

#define SAME_MEMORY(theirs)                                                                                  \
  SAME_PLACES_IN(MemoryRecord, theirs, kind, memoryOperationType, memoryKind, correlationId, address, bytes, \
                 timestamp, PC, processId, deviceId, contextId, streamId, name, isAsync);                    \
  static_assert(sizeof(ours::MemoryRecord) <= sizeof(::theirs), #theirs " is shorter than ours")

#define SAME_UNIFIED_MEMORY(theirs)                                                                                  \
  SAME_PLACES_IN(UnifiedMemoryRecord, theirs, kind, counterKind, value, start, end, address, srcId, dstId, streamId, \
                 processId, flags);                                                                                  \
  static_assert(sizeof(ours::UnifiedMemoryRecord) <= sizeof(::theirs), #theirs " is shorter than ours")

#define SAME_GRAPH(theirs)                                                                                      \
  SAME_PLACES_IN(GraphRecord, theirs, kind, correlationId, start, end, deviceId, graphId, contextId, streamId); \
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

PAIRS(CUpti_PCSamplingCollectionMode, CUpti_PCSamplingOutputDataFormat, CUpti_PCSamplingConfigurationAttributeType,
      CUpti_PCSamplingStallReason, CUpti_PCSamplingPCData, CUpti_PCSamplingData, CUpti_PCSamplingConfigurationInfo,
      CUpti_PCSamplingConfigurationInfoParams, CUpti_PCSamplingGetDataParams, CUpti_PCSamplingStartParams,
      CUpti_PCSamplingStopParams, CUpti_PCSamplingEnableParams, CUpti_PCSamplingDisableParams,
      CUpti_PCSamplingGetNumStallReasonsParams, CUpti_PCSamplingGetStallReasonsParams, CUpti_GetCubinCrcParams);

SAME_VALUES(CUPTI_PC_SAMPLING_COLLECTION_MODE_CONTINUOUS, CUPTI_PC_SAMPLING_COLLECTION_MODE_KERNEL_SERIALIZED);
SAME_SIZE(CUpti_PCSamplingStartParams);
SAME_SIZE(CUpti_PCSamplingStopParams);
SAME_VALUES(CUPTI_PC_SAMPLING_OUTPUT_DATA_FORMAT_PARSED, CUPTI_PC_SAMPLING_CONFIGURATION_ATTR_TYPE_SAMPLING_PERIOD,
            CUPTI_PC_SAMPLING_CONFIGURATION_ATTR_TYPE_SCRATCH_BUFFER_SIZE,
            CUPTI_PC_SAMPLING_CONFIGURATION_ATTR_TYPE_COLLECTION_MODE,
            CUPTI_PC_SAMPLING_CONFIGURATION_ATTR_TYPE_ENABLE_START_STOP_CONTROL,
            CUPTI_PC_SAMPLING_CONFIGURATION_ATTR_TYPE_OUTPUT_DATA_FORMAT,
            CUPTI_PC_SAMPLING_CONFIGURATION_ATTR_TYPE_SAMPLING_DATA_BUFFER);
static_assert(ours::kStallReasonBytes == CUPTI_STALL_REASON_STRING_SIZE, "size of stall reason names");
SAME_STRUCT(CUpti_PCSamplingStallReason, pcSamplingStallReasonIndex, samples);
SAME_FIELDS(CUpti_PCSamplingPCData, size, cubinCrc, pcOffset, functionIndex, functionName, stallReasonCount,
            stallReason);
#if CUPTI_API_VERSION >= 22
SAME_STRUCT(CUpti_PCSamplingPCData, correlationId);
#else
static_assert(offsetof(ours::CUpti_PCSamplingPCData, correlationId) == sizeof(::CUpti_PCSamplingPCData),
              "CUpti_PCSamplingPCData has another size");
#endif
SAME_STRUCT(CUpti_PCSamplingData, size, collectNumPcs, totalSamples, droppedSamples, totalNumPcs, remainingNumPcs,
            rangeId, pPcData, nonUsrKernelsTotalSamples, hardwareBufferFull);
SAME_FIELDS(CUpti_PCSamplingConfigurationInfo, attributeType, attributeStatus);
SAME_PLACES(CUpti_PCSamplingConfigurationInfo, attributeData, attributeData.samplingPeriodData.samplingPeriod,
            attributeData.scratchBufferSizeData.scratchBufferSize, attributeData.collectionModeData.collectionMode,
            attributeData.enableStartStopControlData.enableStartStopControl,
            attributeData.outputDataFormatData.outputDataFormat,
            attributeData.samplingDataBufferData.samplingDataBuffer);
SAME_SIZE(CUpti_PCSamplingConfigurationInfo);
SAME_STRUCT(CUpti_PCSamplingConfigurationInfoParams, size, pPriv, ctx, numAttributes, pPCSamplingConfigurationInfo);
SAME_STRUCT(CUpti_PCSamplingGetDataParams, size, pPriv, ctx, pcSamplingData);
SAME_STRUCT(CUpti_PCSamplingEnableParams, size, pPriv, ctx);
SAME_STRUCT(CUpti_PCSamplingDisableParams, size, pPriv, ctx);
SAME_STRUCT(CUpti_PCSamplingGetNumStallReasonsParams, size, pPriv, ctx, numStallReasons);
SAME_STRUCT(CUpti_PCSamplingGetStallReasonsParams, size, pPriv, ctx, numStallReasons, stallReasonIndex, stallReasons);
SAME_STRUCT(CUpti_GetCubinCrcParams, size, cubinSize, cubin, cubinCrc);
SAME_FUNCTIONS(cuptiPCSamplingSetConfigurationAttribute, cuptiPCSamplingGetConfigurationAttribute,
               cuptiPCSamplingGetData, cuptiPCSamplingEnable, cuptiPCSamplingDisable, cuptiPCSamplingGetNumStallReasons,
               cuptiPCSamplingGetStallReasons, cuptiGetCubinCrc);

// ---- NVTX

PAIRS(nvtxDomainRegistration_st, nvtxStringRegistration_st, nvtxEventAttributes_t, NvtxCallbackModule);

SAME_TYPES(nvtxDomainHandle_t, nvtxStringHandle_t, nvtxRangeId_t);
SAME_VALUES(NVTX_MESSAGE_TYPE_ASCII, NVTX_MESSAGE_TYPE_UNICODE, NVTX_MESSAGE_TYPE_REGISTERED);
SAME_FIELDS(nvtxEventAttributes_t, version, size, category);
SAME_PLACES(nvtxEventAttributes_t, payload);
SAME_FIELDS(nvtxEventAttributes_t, messageType);
SAME_PLACES(nvtxEventAttributes_t, message);
SAME_SIZE(nvtxEventAttributes_t);
SAME_VALUES(NVTX_ETID_CALLBACKS, NVTX_CB_MODULE_CORE, NVTX_CB_MODULE_CORE2, NVTX_CBID_CORE_RangeStartEx,
            NVTX_CBID_CORE_RangeStartA, NVTX_CBID_CORE_RangeStartW, NVTX_CBID_CORE_RangeEnd, NVTX_CBID_CORE_RangePushEx,
            NVTX_CBID_CORE_RangePushA, NVTX_CBID_CORE_RangePushW, NVTX_CBID_CORE_RangePop,
            NVTX_CBID_CORE2_DomainRangeStartEx, NVTX_CBID_CORE2_DomainRangeEnd, NVTX_CBID_CORE2_DomainRangePushEx,
            NVTX_CBID_CORE2_DomainRangePop, NVTX_CBID_CORE2_DomainRegisterStringA,
            NVTX_CBID_CORE2_DomainRegisterStringW, NVTX_CBID_CORE2_DomainCreateA, NVTX_CBID_CORE2_DomainCreateW,
            NVTX_CBID_CORE2_DomainDestroy);
SAME_STRUCT(NvtxExportTableCallbacks, struct_size, GetModuleFunctionTable);
SAME_TYPES(NvtxFunctionTable, NvtxGetExportTableFunc_t, NvtxInitializeInjectionNvtxFunc_t);
static_assert(ours::kNvtxPayloadModule == NVTX_EXT_PAYLOAD_MODULEID);
static_assert(ours::NVTX_CBID_PAYLOAD_RangePush == NVTX3EXT_CBID_nvtxRangePushPayload);
static_assert(ours::NVTX_CBID_PAYLOAD_RangePop == NVTX3EXT_CBID_nvtxRangePopPayload);
static_assert(ours::NVTX_CBID_PAYLOAD_RangeStart == NVTX3EXT_CBID_nvtxRangeStartPayload);
static_assert(ours::NVTX_CBID_PAYLOAD_RangeEnd == NVTX3EXT_CBID_nvtxRangeEndPayload);
SAME_TYPES(nvtxRangeStartEx_impl_fntype, nvtxRangeStartA_impl_fntype, nvtxRangeStartW_impl_fntype,
           nvtxRangeEnd_impl_fntype, nvtxRangePushEx_impl_fntype, nvtxRangePushA_impl_fntype,
           nvtxRangePushW_impl_fntype, nvtxRangePop_impl_fntype, nvtxDomainRangeStartEx_impl_fntype,
           nvtxDomainRangeEnd_impl_fntype, nvtxDomainRangePushEx_impl_fntype, nvtxDomainRangePop_impl_fntype,
           nvtxDomainRegisterStringA_impl_fntype, nvtxDomainRegisterStringW_impl_fntype, nvtxDomainCreateA_impl_fntype,
           nvtxDomainCreateW_impl_fntype, nvtxDomainDestroy_impl_fntype);

static_assert(offsetof(cuMemcpyHtoD_v2_params, ByteCount) == offsetof(ours::SizedParams, size));
static_assert(offsetof(cuMemcpyDtoHAsync_v2_params, ByteCount) == offsetof(ours::SizedParams, size));
static_assert(offsetof(cuMemcpyDtoDAsync_v2_params, ByteCount) == offsetof(ours::SizedParams, size));
static_assert(offsetof(cuMemcpyAsync_params, ByteCount) == offsetof(ours::SizedParams, size));
static_assert(offsetof(cuMemsetD8_v2_params, N) == offsetof(ours::SizedParams, size));
static_assert(offsetof(cuMemsetD16Async_params, N) == offsetof(ours::SizedParams, size));
static_assert(offsetof(cuMemsetD32Async_params, N) == offsetof(ours::SizedParams, size));

// NOLINTEND(bugprone-sizeof-expression)

// ---- SASS metrics

PAIRS(CUpti_Profiler_Initialize_Params, CUpti_Device_GetChipName_Params, CUpti_SassMetrics_MetricDetails,
      CUpti_SassMetrics_GetProperties_Params, CUpti_SassMetrics_Config, CUpti_SassMetricsSetConfig_Params,
      CUpti_SassMetricsEnable_Params, CUpti_SassMetricsDisable_Params, CUpti_SassMetricsGetDataProperties_Params,
      CUpti_SassMetrics_InstanceValue, CUpti_SassMetrics_Data, CUpti_SassMetricsFlushData_Params);
SAME_STRUCT(CUpti_Profiler_Initialize_Params, structSize, pPriv);
SAME_STRUCT(CUpti_Device_GetChipName_Params, structSize, pPriv, deviceIndex, pChipName);
SAME_STRUCT(CUpti_SassMetrics_MetricDetails, metricId, pMetricName, pMetricDescription);
SAME_STRUCT(CUpti_SassMetrics_GetProperties_Params, structSize, pPriv, pChipName, pMetricName);
SAME_STRUCT(CUpti_SassMetrics_Config, metricId, outputGranularity);
SAME_STRUCT(CUpti_SassMetricsSetConfig_Params, structSize, pPriv, numOfMetricConfig, deviceIndex);
SAME_STRUCT(CUpti_SassMetricsEnable_Params, structSize, pPriv, enableLazyPatching);
SAME_STRUCT(CUpti_SassMetricsDisable_Params, structSize, pPriv, numOfDroppedRecords);
SAME_STRUCT(CUpti_SassMetricsGetDataProperties_Params, structSize, pPriv, numOfPatchedInstructionRecords,
            numOfInstances);
SAME_STRUCT(CUpti_SassMetrics_InstanceValue, metricId, value);
SAME_STRUCT(CUpti_SassMetrics_Data, structSize, pPriv, cubinCrc, functionIndex, functionName, pcOffset);
SAME_STRUCT(CUpti_SassMetricsFlushData_Params, structSize, pPriv, numOfPatchedInstructionRecords, numOfInstances);
SAME_PLACES(CUpti_SassMetrics_Data, pInstanceValues);
SAME_PLACES(CUpti_SassMetricsSetConfig_Params, pConfigs);
SAME_PLACES(CUpti_SassMetricsFlushData_Params, pMetricsData);

}  // namespace
