// Declares the part of CUPTI's PC sampling that gpuprof uses (cupti_pcsampling.h of CUDA 12 and 13). The caller sets
// each struct's `size`, so that CUPTI knows which fields exist.
#pragma once

#include <cstddef>
#include <cstdint>

#include "cupti/api/cupti_abi.h"

namespace gpuprof::injection::cupti {

enum CUpti_PCSamplingCollectionMode : uint32_t {
  CUPTI_PC_SAMPLING_COLLECTION_MODE_CONTINUOUS = 1,
  CUPTI_PC_SAMPLING_COLLECTION_MODE_KERNEL_SERIALIZED = 2
};
enum CUpti_PCSamplingOutputDataFormat : uint32_t { CUPTI_PC_SAMPLING_OUTPUT_DATA_FORMAT_PARSED = 1 };

struct alignas(8) CUpti_PCSamplingStallReason {
  uint32_t pcSamplingStallReasonIndex;
  uint32_t samples;
};

// Before CUDA 12.4, the struct ended before `correlationId`. So the elements of an array had a smaller stride.
struct alignas(8) CUpti_PCSamplingPCData {
  size_t size;
  uint64_t cubinCrc;
  uint64_t pcOffset;  // bytes from the start of the function to the instruction
  uint32_t functionIndex;
  uint32_t pad;
  char* functionName;  // CUPTI may return the same text to other callers, so it must not be freed
  size_t stallReasonCount;
  CUpti_PCSamplingStallReason* stallReason;  // the caller's buffer, with space for all stall reasons
  uint32_t correlationId;                    // 0 if CUPTI does not run kernels one at a time (continuous mode)
};

struct alignas(8) CUpti_PCSamplingData {
  size_t size;
  size_t collectNumPcs;   // capacity of pPcData
  uint64_t totalSamples;  // samples in user code + samples in other code + dropped samples
  uint64_t droppedSamples;
  size_t totalNumPcs;  // number of entries that CUPTI has written to pPcData
  size_t remainingNumPcs;
  uint64_t rangeId;
  CUpti_PCSamplingPCData* pPcData;
  uint64_t nonUsrKernelsTotalSamples;
  uint8_t hardwareBufferFull;
};

enum CUpti_PCSamplingConfigurationAttributeType : uint32_t {
  CUPTI_PC_SAMPLING_CONFIGURATION_ATTR_TYPE_SAMPLING_PERIOD = 1,  // base-2 logarithm of the sampling period in cycles
  CUPTI_PC_SAMPLING_CONFIGURATION_ATTR_TYPE_SCRATCH_BUFFER_SIZE = 3,
  CUPTI_PC_SAMPLING_CONFIGURATION_ATTR_TYPE_COLLECTION_MODE = 5,
  CUPTI_PC_SAMPLING_CONFIGURATION_ATTR_TYPE_ENABLE_START_STOP_CONTROL = 6,
  CUPTI_PC_SAMPLING_CONFIGURATION_ATTR_TYPE_OUTPUT_DATA_FORMAT = 7,
  CUPTI_PC_SAMPLING_CONFIGURATION_ATTR_TYPE_SAMPLING_DATA_BUFFER = 8
};

struct CUpti_PCSamplingConfigurationInfo {
  CUpti_PCSamplingConfigurationAttributeType attributeType;
  CUptiResult attributeStatus;
  union {
    struct {
      uint64_t data[3];
    } invalidData;
    struct {
      uint32_t samplingPeriod;
    } samplingPeriodData;
    struct {
      size_t scratchBufferSize;
    } scratchBufferSizeData;
    struct {
      CUpti_PCSamplingCollectionMode collectionMode;
    } collectionModeData;
    struct {
      uint32_t enableStartStopControl;
    } enableStartStopControlData;
    struct {
      CUpti_PCSamplingOutputDataFormat outputDataFormat;
    } outputDataFormatData;
    struct {
      void* samplingDataBuffer;  // a CUpti_PCSamplingData
    } samplingDataBufferData;
  } attributeData;
};

struct CUpti_PCSamplingConfigurationInfoParams {
  size_t size;
  void* pPriv;
  CUcontext ctx;
  size_t numAttributes;
  CUpti_PCSamplingConfigurationInfo* pPCSamplingConfigurationInfo;
};

struct CUpti_PCSamplingGetDataParams {
  size_t size;
  void* pPriv;
  CUcontext ctx;
  void* pcSamplingData;  // a CUpti_PCSamplingData
};

struct CUpti_PCSamplingEnableParams {
  size_t size;
  void* pPriv;
  CUcontext ctx;
};

struct CUpti_PCSamplingDisableParams {
  size_t size;
  void* pPriv;
  CUcontext ctx;
};

// Starts and stops a sampling range, if ENABLE_START_STOP_CONTROL is set.
struct CUpti_PCSamplingStartParams {
  size_t size;
  void* pPriv;
  CUcontext ctx;
};

struct CUpti_PCSamplingStopParams {
  size_t size;
  void* pPriv;
  CUcontext ctx;
};

struct CUpti_PCSamplingGetNumStallReasonsParams {
  size_t size;
  void* pPriv;
  CUcontext ctx;
  size_t* numStallReasons;
};

struct CUpti_PCSamplingGetStallReasonsParams {
  size_t size;
  void* pPriv;
  CUcontext ctx;
  size_t numStallReasons;
  uint32_t* stallReasonIndex;
  char** stallReasons;  // buffers of CUPTI_STALL_REASON_STRING_SIZE bytes each
};
constexpr size_t kStallReasonBytes = 128;  // CUPTI_STALL_REASON_STRING_SIZE

struct CUpti_GetCubinCrcParams {
  size_t size;
  size_t cubinSize;
  const void* cubin;
  uint64_t cubinCrc;
};

CUptiResult cuptiPCSamplingSetConfigurationAttribute(CUpti_PCSamplingConfigurationInfoParams* params);
CUptiResult cuptiPCSamplingGetConfigurationAttribute(CUpti_PCSamplingConfigurationInfoParams* params);
CUptiResult cuptiPCSamplingGetData(CUpti_PCSamplingGetDataParams* params);
CUptiResult cuptiPCSamplingEnable(CUpti_PCSamplingEnableParams* params);
CUptiResult cuptiPCSamplingDisable(CUpti_PCSamplingDisableParams* params);
CUptiResult cuptiPCSamplingStart(CUpti_PCSamplingStartParams* params);
CUptiResult cuptiPCSamplingStop(CUpti_PCSamplingStopParams* params);
CUptiResult cuptiPCSamplingGetNumStallReasons(CUpti_PCSamplingGetNumStallReasonsParams* params);
CUptiResult cuptiPCSamplingGetStallReasons(CUpti_PCSamplingGetStallReasonsParams* params);
CUptiResult cuptiGetCubinCrc(CUpti_GetCubinCrcParams* params);

}  // namespace gpuprof::injection::cupti
