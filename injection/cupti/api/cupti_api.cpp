#include "cupti/api/cupti_api.h"

#include <dlfcn.h>

namespace gpuprof::injection::cupti {
namespace {

template <typename Function>
bool look_up(void* library, const char* name, Function* function) {
  *function = reinterpret_cast<Function>(dlsym(library, name));
  return *function != nullptr;
}

void bind_sampling(void* library, PcSamplingApi* api) {
  bool complete = true;
  const auto need = [&](const char* name, auto* function) { complete = look_up(library, name, function) && complete; };
  need("cuptiPCSamplingEnable", &api->enable);
  need("cuptiPCSamplingDisable", &api->disable);
  need("cuptiPCSamplingSetConfigurationAttribute", &api->set_attribute);
  need("cuptiPCSamplingGetConfigurationAttribute", &api->get_attribute);
  need("cuptiPCSamplingGetData", &api->get_data);
  need("cuptiPCSamplingStart", &api->start);
  need("cuptiPCSamplingStop", &api->stop);
  need("cuptiPCSamplingGetNumStallReasons", &api->count_reasons);
  need("cuptiPCSamplingGetStallReasons", &api->reasons);
  need("cuptiGetCubinCrc", &api->cubin_crc);
  need("cuptiGetContextId", &api->context_id);
  need("cuptiGetDeviceId", &api->device_id);
  api->complete = complete;
}

void bind_shared(void* library, SharedApi* api) {
  bool complete = true;
  const auto need = [&](const char* name, auto* function) { complete = look_up(library, name, function) && complete; };
  need("cuptiSubscribe_v2", &api->subscribe);
  need("cuptiActivityRegisterCallbacks_v2", &api->register_buffers);
  need("cuptiActivityEnable_v2", &api->enable);
  need("cuptiActivityDisable_v2", &api->disable);
  need("cuptiActivityGetNextRecord_v2", &api->next_record);
  need("cuptiActivityGetNumDroppedRecords_v2", &api->dropped_records);
  need("cuptiGetTimestamp_v2", &api->get_timestamp);
  api->complete = complete;
}

void bind_sass(void* library, SassApi* api) {
  bool complete = true;
  const auto need = [&](const char* name, auto* function) { complete = look_up(library, name, function) && complete; };
  need("cuptiProfilerInitialize", &api->initialize);
  need("cuptiDeviceGetChipName", &api->chip_name);
  need("cuptiSassMetricsGetProperties", &api->properties);
  need("cuptiSassMetricsSetConfig", &api->set_config);
  need("cuptiSassMetricsEnable", &api->enable);
  need("cuptiSassMetricsDisable", &api->disable);
  need("cuptiSassMetricsGetDataProperties", &api->data_properties);
  need("cuptiSassMetricsFlushData", &api->flush_data);
  api->complete = complete;
}

}  // namespace

const char* bind(void* library, Api* api) {
  const char* missing = nullptr;
  const auto need = [&](const char* name, auto* function) {
    if (!look_up(library, name, function) && missing == nullptr) {
      missing = name;
    }
  };
  need("cuptiGetVersion", &api->get_version);
  need("cuptiGetResultString", &api->get_result_string);
  need("cuptiGetTimestamp", &api->get_timestamp);
  need("cuptiSubscribe", &api->subscribe);
  need("cuptiUnsubscribe", &api->unsubscribe);
  need("cuptiGetCallbackName", &api->get_callback_name);
  need("cuptiEnableCallback", &api->enable_callback);
  need("cuptiActivityRegisterCallbacks", &api->register_buffers);
  need("cuptiActivityEnable", &api->enable);
  need("cuptiActivityDisable", &api->disable);
  need("cuptiActivityGetNextRecord", &api->next_record);
  need("cuptiActivityGetNumDroppedRecords", &api->dropped_records);
  need("cuptiActivityFlushAll", &api->flush_all);
  look_up(library, "cuptiActivityRegisterTimestampCallback", &api->register_timestamp);
  look_up(library, "cuptiGetGraphNodeId", &api->graph_node_id);
  look_up(library, "cuptiGetGraphExecId", &api->graph_exec_id);
  look_up(library, "cuptiGetStreamIdEx", &api->stream_id);
  look_up(library, "cuptiActivityEnableLatencyTimestamps", &api->enable_latency);
  look_up(library, "cuptiActivityConfigureUnifiedMemoryCounter", &api->configure_unified_memory);
  look_up(library, "cuptiFinalize", &api->finalize);
  bind_shared(library, &api->shared);
  bind_sampling(library, &api->sampling);
  bind_sass(library, &api->sass);
  return missing;
}

const char* result_text(const Api& api, CUptiResult result) {
  const char* text = nullptr;
  if (api.get_result_string(result, &text) != CUPTI_SUCCESS || text == nullptr) {
    return "unknown CUPTI error";
  }
  return text;
}

}  // namespace gpuprof::injection::cupti
