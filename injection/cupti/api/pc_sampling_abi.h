// What we use of CUPTI's PC sampling (cupti_pcsampling.h of CUDA 12 and 13), declared by us as in cuda_abi.h. Every
// struct says its own size, so that CUPTI knows which of its fields are there.
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

// Until CUDA 12.3 this ended before `correlationId`, and an array of them has the smaller step.
struct alignas(8) CUpti_PCSamplingPCData {
  size_t size;
  uint64_t cubinCrc;
  uint64_t pcOffset;  // from where the function begins
  uint32_t functionIndex;
  uint32_t pad;
  char* functionName;  // shared with other calls and other users: never to be freed
  size_t stallReasonCount;
  CUpti_PCSamplingStallReason* stallReason;  // room of ours for all reasons
  uint32_t correlationId;                    // 0 in continuous mode
};

struct alignas(8) CUpti_PCSamplingData {
  size_t size;
  size_t collectNumPcs;     // what there is room for
  uint64_t totalSamples;    // of user code, of other code, and dropped ones
  uint64_t droppedSamples;  // by the hardware
  size_t totalNumPcs;       // what is in pPcData now
  size_t remainingNumPcs;
  uint64_t rangeId;
  CUpti_PCSamplingPCData* pPcData;
  uint64_t nonUsrKernelsTotalSamples;
  uint8_t hardwareBufferFull;
};

enum CUpti_PCSamplingConfigurationAttributeType : uint32_t {
  CUPTI_PC_SAMPLING_CONFIGURATION_ATTR_TYPE_SAMPLING_PERIOD = 1,  // its logarithm to the base of 2, in cycles
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

// Of a range, where ENABLE_START_STOP_CONTROL is set.
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
  char** stallReasons;  // room of CUPTI_STALL_REASON_STRING_SIZE for each
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
