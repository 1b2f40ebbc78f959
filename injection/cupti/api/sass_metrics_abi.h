// Declares the part of CUPTI's SASS metrics that gpuprof uses (cupti_sass_metrics.h of CUDA 12.2 and later). The caller
// sets structSize to the size up to the end of the last field, without padding.
#pragma once

#include <cstddef>
#include <cstdint>

#include "cupti/api/cupti_abi.h"

namespace gpuprof::injection::cupti {

enum CUpti_SassMetrics_OutputGranularity : uint8_t { CUPTI_SASS_METRICS_OUTPUT_GRANULARITY_GPU = 0 };

struct CUpti_Profiler_Initialize_Params {
  size_t structSize;
  void* pPriv;
};

struct CUpti_Device_GetChipName_Params {
  size_t structSize;
  void* pPriv;
  size_t deviceIndex;
  const char* pChipName;
};

struct CUpti_SassMetrics_MetricDetails {
  uint64_t metricId;
  const char* pMetricName;
  const char* pMetricDescription;
};

struct CUpti_SassMetrics_GetProperties_Params {
  size_t structSize;
  void* pPriv;
  const char* pChipName;
  const char* pMetricName;
  CUpti_SassMetrics_MetricDetails metric;
};

struct CUpti_SassMetrics_Config {
  uint64_t metricId;
  uint8_t outputGranularity;
};

struct CUpti_SassMetricsSetConfig_Params {
  size_t structSize;
  void* pPriv;
  size_t numOfMetricConfig;
  CUpti_SassMetrics_Config* pConfigs;
  uint32_t deviceIndex;
};

struct CUpti_SassMetricsEnable_Params {
  size_t structSize;
  void* pPriv;
  CUcontext ctx;
  uint8_t enableLazyPatching;  // 1: CUPTI patches a function when it first runs
};

struct CUpti_SassMetricsDisable_Params {
  size_t structSize;
  void* pPriv;
  CUcontext ctx;
  size_t numOfDroppedRecords;
};

struct CUpti_SassMetricsGetDataProperties_Params {
  size_t structSize;
  void* pPriv;
  CUcontext ctx;
  size_t numOfPatchedInstructionRecords;  // number of records: one per instruction and metric
  size_t numOfInstances;
};

struct CUpti_SassMetrics_InstanceValue {
  uint64_t metricId;
  uint64_t value;
};

struct CUpti_SassMetrics_Data {
  size_t structSize;  // the same value as CUpti_SassMetricsFlushData_Params::structSize
  void* pPriv;
  uint32_t cubinCrc;
  uint32_t functionIndex;
  const char* functionName;
  uint32_t pcOffset;  // bytes from the start of the function to the instruction
  CUpti_SassMetrics_InstanceValue* pInstanceValues;
};

struct CUpti_SassMetricsFlushData_Params {
  size_t structSize;  // size up to the end of numOfInstances
  void* pPriv;
  CUcontext ctx;
  size_t numOfPatchedInstructionRecords;
  size_t numOfInstances;
  CUpti_SassMetrics_Data* pMetricsData;
};

#define GPUPROF_SIZE_UP_TO(type, field) (offsetof(type, field) + sizeof(type::field))

CUptiResult cuptiProfilerInitialize(CUpti_Profiler_Initialize_Params* params);
CUptiResult cuptiDeviceGetChipName(CUpti_Device_GetChipName_Params* params);
CUptiResult cuptiSassMetricsGetProperties(CUpti_SassMetrics_GetProperties_Params* params);
CUptiResult cuptiSassMetricsSetConfig(CUpti_SassMetricsSetConfig_Params* params);
CUptiResult cuptiSassMetricsEnable(CUpti_SassMetricsEnable_Params* params);
CUptiResult cuptiSassMetricsDisable(CUpti_SassMetricsDisable_Params* params);
CUptiResult cuptiSassMetricsGetDataProperties(CUpti_SassMetricsGetDataProperties_Params* params);
CUptiResult cuptiSassMetricsFlushData(CUpti_SassMetricsFlushData_Params* params);

}  // namespace gpuprof::injection::cupti
