// Activity records as we read them. The structs named here are the ones of CUDA 12; CUDA 13 only appends to
// them, which is checked here, so one reading fits the libraries of both.
#pragma once

#include <cupti_activity.h>
#include <cupti_version.h>

#include <cstddef>

namespace gpuprof::injection::cupti {

using KernelRecord = CUpti_ActivityKernel9;
using CopyRecord = CUpti_ActivityMemcpy5;
using PeerCopyRecord = CUpti_ActivityMemcpyPtoP4;
using FillRecord = CUpti_ActivityMemset4;
using MemoryRecord = CUpti_ActivityMemory3;
using UnifiedMemoryRecord = CUpti_ActivityUnifiedMemoryCounter2;
using GraphRecord = CUpti_ActivityGraphTrace;

#define GPUPROF_SAME_OFFSET(ours, theirs, field) \
  static_assert(offsetof(ours, field) == offsetof(theirs, field), #theirs " moved " #field)

#if CUPTI_API_VERSION >= 130000
GPUPROF_SAME_OFFSET(KernelRecord, CUpti_ActivityKernel10, start);
GPUPROF_SAME_OFFSET(KernelRecord, CUpti_ActivityKernel10, end);
GPUPROF_SAME_OFFSET(KernelRecord, CUpti_ActivityKernel10, deviceId);
GPUPROF_SAME_OFFSET(KernelRecord, CUpti_ActivityKernel10, contextId);
GPUPROF_SAME_OFFSET(KernelRecord, CUpti_ActivityKernel10, streamId);
GPUPROF_SAME_OFFSET(KernelRecord, CUpti_ActivityKernel10, correlationId);
GPUPROF_SAME_OFFSET(KernelRecord, CUpti_ActivityKernel10, name);
GPUPROF_SAME_OFFSET(KernelRecord, CUpti_ActivityKernel10, queued);
GPUPROF_SAME_OFFSET(KernelRecord, CUpti_ActivityKernel10, submitted);
GPUPROF_SAME_OFFSET(KernelRecord, CUpti_ActivityKernel10, graphNodeId);
GPUPROF_SAME_OFFSET(CopyRecord, CUpti_ActivityMemcpy6, copyKind);
GPUPROF_SAME_OFFSET(CopyRecord, CUpti_ActivityMemcpy6, bytes);
GPUPROF_SAME_OFFSET(CopyRecord, CUpti_ActivityMemcpy6, start);
GPUPROF_SAME_OFFSET(CopyRecord, CUpti_ActivityMemcpy6, end);
GPUPROF_SAME_OFFSET(CopyRecord, CUpti_ActivityMemcpy6, deviceId);
GPUPROF_SAME_OFFSET(CopyRecord, CUpti_ActivityMemcpy6, contextId);
GPUPROF_SAME_OFFSET(CopyRecord, CUpti_ActivityMemcpy6, streamId);
GPUPROF_SAME_OFFSET(CopyRecord, CUpti_ActivityMemcpy6, correlationId);
GPUPROF_SAME_OFFSET(CopyRecord, CUpti_ActivityMemcpy6, graphNodeId);
GPUPROF_SAME_OFFSET(MemoryRecord, CUpti_ActivityMemory4, memoryOperationType);
GPUPROF_SAME_OFFSET(MemoryRecord, CUpti_ActivityMemory4, memoryKind);
GPUPROF_SAME_OFFSET(MemoryRecord, CUpti_ActivityMemory4, correlationId);
GPUPROF_SAME_OFFSET(MemoryRecord, CUpti_ActivityMemory4, bytes);
GPUPROF_SAME_OFFSET(MemoryRecord, CUpti_ActivityMemory4, timestamp);
GPUPROF_SAME_OFFSET(MemoryRecord, CUpti_ActivityMemory4, deviceId);
GPUPROF_SAME_OFFSET(UnifiedMemoryRecord, CUpti_ActivityUnifiedMemoryCounter3, counterKind);
GPUPROF_SAME_OFFSET(UnifiedMemoryRecord, CUpti_ActivityUnifiedMemoryCounter3, value);
GPUPROF_SAME_OFFSET(UnifiedMemoryRecord, CUpti_ActivityUnifiedMemoryCounter3, start);
GPUPROF_SAME_OFFSET(UnifiedMemoryRecord, CUpti_ActivityUnifiedMemoryCounter3, end);
GPUPROF_SAME_OFFSET(UnifiedMemoryRecord, CUpti_ActivityUnifiedMemoryCounter3, srcId);
GPUPROF_SAME_OFFSET(UnifiedMemoryRecord, CUpti_ActivityUnifiedMemoryCounter3, dstId);
GPUPROF_SAME_OFFSET(GraphRecord, CUpti_ActivityGraphTrace2, correlationId);
GPUPROF_SAME_OFFSET(GraphRecord, CUpti_ActivityGraphTrace2, start);
GPUPROF_SAME_OFFSET(GraphRecord, CUpti_ActivityGraphTrace2, end);
GPUPROF_SAME_OFFSET(GraphRecord, CUpti_ActivityGraphTrace2, deviceId);
GPUPROF_SAME_OFFSET(GraphRecord, CUpti_ActivityGraphTrace2, contextId);
GPUPROF_SAME_OFFSET(GraphRecord, CUpti_ActivityGraphTrace2, streamId);
#endif

// Whatever headers this was compiled with, these are the places of CUDA 12.0 to 13.0.
static_assert(offsetof(KernelRecord, start) == 16 && offsetof(KernelRecord, end) == 24, "kernel times");
static_assert(offsetof(KernelRecord, deviceId) == 40 && offsetof(KernelRecord, contextId) == 44, "kernel device");
static_assert(offsetof(KernelRecord, streamId) == 48 && offsetof(KernelRecord, correlationId) == 92, "kernel launch");
static_assert(offsetof(KernelRecord, name) == 104 && offsetof(KernelRecord, graphNodeId) == 144, "kernel name, node");
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
