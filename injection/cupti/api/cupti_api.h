// Binds the CUPTI functions at run time to the libcupti of the target.
#pragma once

#include "cupti/api/cupti_abi.h"
#include "cupti/api/pc_sampling_abi.h"
#include "cupti/api/sass_metrics_abi.h"

namespace gpuprof::injection::cupti {

// Functions for PC sampling. gpuprof samples only if CUPTI has all of them.
struct PcSamplingApi {
  decltype(&cuptiPCSamplingEnable) enable;
  decltype(&cuptiPCSamplingDisable) disable;
  decltype(&cuptiPCSamplingSetConfigurationAttribute) set_attribute;
  decltype(&cuptiPCSamplingGetConfigurationAttribute) get_attribute;
  decltype(&cuptiPCSamplingGetData) get_data;
  decltype(&cuptiPCSamplingStart) start;
  decltype(&cuptiPCSamplingStop) stop;
  decltype(&cuptiPCSamplingGetNumStallReasons) count_reasons;
  decltype(&cuptiPCSamplingGetStallReasons) reasons;
  decltype(&cuptiGetCubinCrc) cubin_crc;
  decltype(&cuptiGetContextId) context_id;
  decltype(&cuptiGetDeviceId) device_id;
  bool complete;
};

// Functions for SASS metrics. gpuprof counts instructions only if CUPTI has all of them.
struct SassApi {
  decltype(&cuptiProfilerInitialize) initialize;
  decltype(&cuptiDeviceGetChipName) chip_name;
  decltype(&cuptiSassMetricsGetProperties) properties;
  decltype(&cuptiSassMetricsSetConfig) set_config;
  decltype(&cuptiSassMetricsEnable) enable;
  decltype(&cuptiSassMetricsDisable) disable;
  decltype(&cuptiSassMetricsGetDataProperties) data_properties;
  decltype(&cuptiSassMetricsFlushData) flush_data;
  bool complete;
};

// Functions for several subscribers. https://docs.nvidia.com/cupti/main/main.html#multiple-subscribers lists them. All
// but `subscribe` are in CUPTI 13.3 and later.
struct SharedApi {
  CUptiResult (*subscribe)(CUpti_SubscriberHandle*, CUpti_CallbackFunc, void* user, CUpti_SubscriberParams*);
  CUptiResult (*register_buffers)(CUpti_SubscriberHandle,
                                  void (*request)(uint8_t** buffer, size_t* size, size_t* max_records, void* info),
                                  void (*complete)(uint8_t* buffer, size_t size, size_t valid, void* info));
  CUptiResult (*enable)(CUpti_SubscriberHandle, CUpti_ActivityKind, void* config);
  CUptiResult (*disable)(CUpti_SubscriberHandle, CUpti_ActivityKind, void* config);
  CUptiResult (*next_record)(CUpti_SubscriberHandle, uint8_t* buffer, size_t valid, CUpti_Activity**);
  CUptiResult (*dropped_records)(CUpti_SubscriberHandle, CUcontext, uint32_t stream, size_t* dropped);
  CUptiResult (*get_timestamp)(CUpti_SubscriberHandle, uint64_t* time);
  bool complete;
};

struct Api {
  decltype(&cuptiGetVersion) get_version;
  decltype(&cuptiGetResultString) get_result_string;
  decltype(&cuptiGetTimestamp) get_timestamp;
  decltype(&cuptiSubscribe) subscribe;
  decltype(&cuptiUnsubscribe) unsubscribe;
  decltype(&cuptiGetCallbackName) get_callback_name;
  decltype(&cuptiEnableCallback) enable_callback;
  decltype(&cuptiActivityRegisterCallbacks) register_buffers;
  decltype(&cuptiActivityRegisterTimestampCallback) register_timestamp;  // null if CUPTI is older than 11.6
  decltype(&cuptiActivityEnable) enable;
  decltype(&cuptiActivityDisable) disable;
  decltype(&cuptiActivityGetNextRecord) next_record;
  decltype(&cuptiActivityGetNumDroppedRecords) dropped_records;
  decltype(&cuptiActivityFlushAll) flush_all;
  // The following functions are null if CUPTI lacks them:
  decltype(&cuptiGetGraphNodeId) graph_node_id;
  decltype(&cuptiGetGraphExecId) graph_exec_id;
  decltype(&cuptiGetStreamIdEx) stream_id;
  decltype(&cuptiActivityEnableLatencyTimestamps) enable_latency;
  decltype(&cuptiActivityConfigureUnifiedMemoryCounter) configure_unified_memory;
  decltype(&cuptiFinalize) finalize;
  SharedApi shared;
  PcSamplingApi sampling;
  SassApi sass;
};

// Fills `api` from a dlopen handle. Returns the name of a missing required function, or null.
const char* bind(void* library, Api* api);

// Returns CUPTI's text for a result; never null.
const char* result_text(const Api& api, CUptiResult result);

}  // namespace gpuprof::injection::cupti
