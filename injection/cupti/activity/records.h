// Declares CUPTI's activity records without NVIDIA's headers. Records of CUDA 11.6 to 13 differ in length but begin
// with the same fields, which these structs declare. abi_check.cpp compares each struct with the NVIDIA struct that its
// comment names.
#pragma once

#include <cstddef>

#include "cupti/api/cupti_abi.h"

namespace gpuprof::injection::cupti {

// Version number (cuptiGetVersion) of the oldest supported CUPTI, which came with CUDA 11.6.
constexpr uint32_t kOldestVersion = 17;

// The common fields of CUpti_ActivityKernel7 and later.
struct KernelRecord {
  CUpti_ActivityKind kind;
  uint8_t cacheConfig;
  uint8_t sharedMemoryConfig;
  uint16_t registersPerThread;
  uint32_t partitionedGlobalCacheRequested;
  uint32_t partitionedGlobalCacheExecuted;
  uint64_t start;
  uint64_t end;
  uint64_t completed;
  uint32_t deviceId;
  uint32_t contextId;
  uint32_t streamId;
  int32_t gridX;
  int32_t gridY;
  int32_t gridZ;
  int32_t blockX;
  int32_t blockY;
  int32_t blockZ;
  int32_t staticSharedMemory;
  int32_t dynamicSharedMemory;
  uint32_t localMemoryPerThread;
  uint32_t localMemoryTotal;
  uint32_t correlationId;
  int64_t gridId;
  const char* name;  // memory of the module; invalid after its unload
  void* reserved0;
  uint64_t queued;
  uint64_t submitted;
  uint8_t launchType;
  uint8_t isSharedMemoryCarveoutRequested;
  uint8_t sharedMemoryCarveoutRequested;
  uint8_t padding;
  uint32_t sharedMemoryExecuted;
  uint64_t graphNodeId;  // 0: the kernel was not launched by a graph
  uint32_t shmemLimitConfig;
  uint32_t graphId;
  void* pAccessPolicyWindow;
  uint32_t channelID;
  uint32_t channelType;
};

// The common fields of CUpti_ActivityMemcpy5 and later.
struct CopyRecord {
  CUpti_ActivityKind kind;
  uint8_t copyKind;  // CUpti_ActivityMemcpyKind
  uint8_t srcKind;
  uint8_t dstKind;
  uint8_t flags;
  uint64_t bytes;
  uint64_t start;
  uint64_t end;
  uint32_t deviceId;
  uint32_t contextId;
  uint32_t streamId;
  uint32_t correlationId;
  uint32_t runtimeCorrelationId;
  uint32_t pad;
  void* reserved0;
  uint64_t graphNodeId;
  uint32_t graphId;
  uint32_t channelID;
  uint32_t channelType;
};

// The used fields of CUpti_ActivityMemcpyPtoP4.
struct PeerCopyRecord {
  CUpti_ActivityKind kind;
  uint8_t copyKind;
  uint8_t srcKind;
  uint8_t dstKind;
  uint8_t flags;
  uint64_t bytes;
  uint64_t start;
  uint64_t end;
  uint32_t deviceId;
  uint32_t contextId;
  uint32_t streamId;
  uint32_t srcDeviceId;
  uint32_t srcContextId;
  uint32_t dstDeviceId;
  uint32_t dstContextId;
  uint32_t correlationId;
  void* reserved0;
  uint64_t graphNodeId;
  uint32_t graphId;
  uint32_t channelID;
  uint32_t channelType;
};

// The used fields of CUpti_ActivityMemset4.
struct FillRecord {
  CUpti_ActivityKind kind;
  uint32_t value;
  uint64_t bytes;
  uint64_t start;
  uint64_t end;
  uint32_t deviceId;
  uint32_t contextId;
  uint32_t streamId;
  uint32_t correlationId;
  uint16_t flags;
  uint16_t memoryKind;
  uint32_t pad;
  void* reserved0;
  uint64_t graphNodeId;
  uint32_t graphId;
  uint32_t channelID;
  uint32_t channelType;
};

// The common fields of CUpti_ActivityMemory3 and later, without the fields of memory pools.
struct MemoryRecord {
  CUpti_ActivityKind kind;
  CUpti_ActivityMemoryOperationType memoryOperationType;
  uint32_t memoryKind;
  uint32_t correlationId;
  uint64_t address;
  uint64_t bytes;
  uint64_t timestamp;
  uint64_t PC;
  uint32_t processId;
  uint32_t deviceId;
  uint32_t contextId;
  uint32_t streamId;
  const char* name;
  uint32_t isAsync;
};

// The common fields of CUpti_ActivityUnifiedMemoryCounter2 and later.
struct UnifiedMemoryRecord {
  CUpti_ActivityKind kind;
  CUpti_ActivityUnifiedMemoryCounterKind counterKind;
  uint64_t value;
  uint64_t start;
  uint64_t end;
  uint64_t address;
  uint32_t srcId;
  uint32_t dstId;
  uint32_t streamId;
  uint32_t processId;
  uint32_t flags;
};

// The common fields of CUpti_ActivityGraphTrace and later.
struct GraphRecord {
  CUpti_ActivityKind kind;
  uint32_t correlationId;
  uint64_t start;
  uint64_t end;
  uint32_t deviceId;
  uint32_t graphId;
  uint32_t contextId;
  uint32_t streamId;
};

// NVIDIA's structs have these offsets on every processor.
static_assert(offsetof(KernelRecord, start) == 16 && offsetof(KernelRecord, end) == 24, "kernel times");
static_assert(offsetof(KernelRecord, deviceId) == 40 && offsetof(KernelRecord, contextId) == 44, "kernel device");
static_assert(offsetof(KernelRecord, streamId) == 48 && offsetof(KernelRecord, correlationId) == 92, "kernel launch");
static_assert(offsetof(KernelRecord, name) == 104 && offsetof(KernelRecord, graphNodeId) == 144, "kernel name, node");
static_assert(offsetof(KernelRecord, queued) == 120 && offsetof(KernelRecord, graphId) == 156, "kernel latency, graph");
static_assert(offsetof(CopyRecord, bytes) == 8 && offsetof(CopyRecord, start) == 16, "copy");
static_assert(offsetof(CopyRecord, deviceId) == 32 && offsetof(CopyRecord, correlationId) == 44, "copy launch");
static_assert(offsetof(CopyRecord, graphNodeId) == 64, "copy node");
static_assert(offsetof(PeerCopyRecord, bytes) == 8 && offsetof(PeerCopyRecord, start) == 16, "peer copy");
static_assert(offsetof(PeerCopyRecord, correlationId) == 60, "peer copy launch");
static_assert(offsetof(FillRecord, bytes) == 8 && offsetof(FillRecord, start) == 16, "fill");
static_assert(offsetof(FillRecord, correlationId) == 44, "fill launch");
static_assert(offsetof(MemoryRecord, correlationId) == 12 && offsetof(MemoryRecord, bytes) == 24, "memory");
static_assert(offsetof(MemoryRecord, timestamp) == 32 && offsetof(MemoryRecord, deviceId) == 52, "memory place");
static_assert(offsetof(UnifiedMemoryRecord, value) == 8 && offsetof(UnifiedMemoryRecord, start) == 16,
              "unified memory");
static_assert(offsetof(UnifiedMemoryRecord, srcId) == 40 && offsetof(UnifiedMemoryRecord, dstId) == 44,
              "unified place");
static_assert(offsetof(GraphRecord, correlationId) == 4 && offsetof(GraphRecord, start) == 8, "graph");
static_assert(offsetof(GraphRecord, deviceId) == 24 && offsetof(GraphRecord, streamId) == 36, "graph place");

}  // namespace gpuprof::injection::cupti
