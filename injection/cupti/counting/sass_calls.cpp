#include "cupti/counting/sass_calls.h"

#include <sys/mman.h>

#include <cstdio>
#include <cstring>

#include "base/text_arena.h"
#include "cupti/session.h"
#include "ipc/emit.h"
#include "ipc/ring.h"
#include "runtime/code_store.h"
#include "wire/wire.h"

namespace gpuprof::injection::cupti {
namespace {

constexpr size_t kMaxMetrics = 64;
constexpr size_t kMaxName = 128;
// Limit on the records of one read, which take about 300 MB. There is one record per instruction and metric.
constexpr size_t kMaxRecords = size_t{1} << 22;

struct Metric {
  uint64_t id;
  uint32_t name_id;
};
struct Metrics {
  size_t count;
  Metric known[kMaxMetrics];
};
// Written while the first device is configured; the caller of configure_counts() holds the lock.
constinit Metrics metrics = {};

const SassApi& api() {
  return session().api.sass;
}

uint32_t name_of(uint64_t metric) {
  for (size_t i = 0; i < metrics.count; ++i) {
    if (metrics.known[i].id == metric) {
      return metrics.known[i].name_id;
    }
  }
  return 0;
}

// A note that names the metrics that the device does not have.
struct MissingMetrics {
  char text[900];
  size_t length;

  void add(const char* chip, const char* name, CUptiResult result) {
    int written = 0;
    if (length == 0) {
      written = snprintf(text, sizeof(text), "CUPTI has no such metrics for this GPU (%s, CUPTI error %u): %s", chip,
                         static_cast<unsigned>(result), name);
    } else {
      written = snprintf(text + length, sizeof(text) - length, ", %s", name);
    }
    length += written > 0 && static_cast<size_t>(written) < sizeof(text) - length ? static_cast<size_t>(written) : 0;
  }
};

bool add_metric(const char* chip, const char* name, CUpti_SassMetrics_Config* config, MissingMetrics* missing) {
  CUpti_SassMetrics_GetProperties_Params params = {};
  params.structSize = GPUPROF_SIZE_UP_TO(CUpti_SassMetrics_GetProperties_Params, metric);
  params.pChipName = chip;
  params.pMetricName = name;
  if (const CUptiResult result = api().properties(&params); result != CUPTI_SUCCESS) {
    missing->add(chip, name, result);
    return false;
  }
  *config = {params.metric.metricId, CUPTI_SASS_METRICS_OUTPUT_GRANULARITY_GPU};
  if (name_of(params.metric.metricId) == 0 && metrics.count < kMaxMetrics) {
    metrics.known[metrics.count++] = {params.metric.metricId, name_id(name)};
  }
  return true;
}

size_t find_metrics(const char* chip, const char* list, CUpti_SassMetrics_Config* configs) {
  size_t count = 0;
  MissingMetrics missing = {};
  while (*list != '\0' && count < kMaxMetrics) {
    const size_t length = strcspn(list, ",");
    char name[kMaxName];
    if (length > 0 && length < sizeof(name)) {
      memcpy(name, list, length);
      name[length] = '\0';
      count += add_metric(chip, name, &configs[count], &missing) ? 1 : 0;
    }
    list += length + (list[length] == ',' ? 1 : 0);
  }
  if (missing.length != 0) {
    meta("note.metrics_left_out", missing.text);
  }
  return count;
}

struct CountBuffer {
  void* memory;
  size_t bytes;
  CUpti_SassMetrics_Data* records;
};

bool make_buffer(size_t records, size_t instances, CountBuffer* buffer) {
  buffer->bytes = records * (sizeof(CUpti_SassMetrics_Data) + instances * sizeof(CUpti_SassMetrics_InstanceValue));
  buffer->memory = map_memory(buffer->bytes);
  if (buffer->memory == nullptr) {
    return false;
  }
  buffer->records = static_cast<CUpti_SassMetrics_Data*>(buffer->memory);
  auto* values = reinterpret_cast<CUpti_SassMetrics_InstanceValue*>(buffer->records + records);
  for (size_t i = 0; i < records; ++i) {
    buffer->records[i].structSize = GPUPROF_SIZE_UP_TO(CUpti_SassMetricsFlushData_Params, numOfInstances);
    buffer->records[i].pInstanceValues = values + i * instances;
  }
  return true;
}

void emit(const CUpti_SassMetrics_Data& data, size_t instances, uint32_t device, uint32_t ring, bool may_wait) {
  gpuprof_segment* segment = open_segment();
  gpuprof_count_record record = {};
  for (size_t i = 0; i < instances; ++i) {
    record.value += data.pInstanceValues[i].value;
  }
  if (segment == nullptr || record.value == 0 || data.functionName == nullptr) {
    return;
  }
  record.header.type = GPUPROF_RECORD_COUNT;
  record.module = module_of_code(data.cubinCrc);
  record.offset = data.pcOffset;
  record.function_id = name_id(data.functionName);
  record.name_id = name_of(data.pInstanceValues[0].metricId);
  record.device = device;
  if (record.name_id != 0) {
    write_record_to(segment, ring, &record.header, sizeof(record), nullptr, 0, may_wait);
  }
}

}  // namespace

CUptiResult configure_counts(uint32_t device, const char* list, size_t* count) {
  CUpti_Profiler_Initialize_Params initialize = {sizeof(initialize), nullptr};
  CUptiResult result = api().initialize(&initialize);
  if (result != CUPTI_SUCCESS) {
    return result;
  }
  CUpti_Device_GetChipName_Params chip = {sizeof(chip), nullptr, device, nullptr};
  result = api().chip_name(&chip);
  if (result != CUPTI_SUCCESS || chip.pChipName == nullptr) {
    return result != CUPTI_SUCCESS ? result : CUPTI_ERROR_NOT_SUPPORTED;
  }
  CUpti_SassMetrics_Config configs[kMaxMetrics] = {};
  *count = find_metrics(chip.pChipName, list, configs);
  if (*count == 0) {
    return CUPTI_SUCCESS;
  }
  CUpti_SassMetricsSetConfig_Params params = {};
  params.structSize = GPUPROF_SIZE_UP_TO(CUpti_SassMetricsSetConfig_Params, deviceIndex);
  params.numOfMetricConfig = *count;
  params.pConfigs = configs;
  params.deviceIndex = device;
  return api().set_config(&params);
}

CUptiResult enable_counts(CUcontext context) {
  CUpti_SassMetricsEnable_Params params = {};
  params.structSize = GPUPROF_SIZE_UP_TO(CUpti_SassMetricsEnable_Params, enableLazyPatching);
  params.ctx = context;
  params.enableLazyPatching = 1;
  return api().enable(&params);
}

CUptiResult disable_counts(CUcontext context) {
  CUpti_SassMetricsDisable_Params params = {sizeof(params), nullptr, context, 0};
  const CUptiResult result = api().disable(&params);
  if (params.numOfDroppedRecords != 0) {
    lost(GPUPROF_LOSS_DETAIL, params.numOfDroppedRecords);
  }
  return result;
}

void read_counts(CUcontext context, uint32_t device, uint32_t ring, bool may_wait) {
  CUpti_SassMetricsGetDataProperties_Params found = {sizeof(found), nullptr, context, 0, 0};
  if (api().data_properties(&found) != CUPTI_SUCCESS || found.numOfPatchedInstructionRecords == 0) {
    return;
  }
  const size_t records = found.numOfPatchedInstructionRecords;
  const size_t instances = found.numOfInstances;
  CountBuffer buffer = {};
  if (instances == 0 || records > kMaxRecords / instances || !make_buffer(records, instances, &buffer)) {
    lost(GPUPROF_LOSS_DETAIL, records);
    return;
  }
  CUpti_SassMetricsFlushData_Params params = {};
  params.structSize = GPUPROF_SIZE_UP_TO(CUpti_SassMetricsFlushData_Params, numOfInstances);
  params.ctx = context;
  params.numOfPatchedInstructionRecords = records;
  params.numOfInstances = instances;
  params.pMetricsData = buffer.records;
  if (api().flush_data(&params) == CUPTI_SUCCESS) {
    for (size_t i = 0; i < records; ++i) {
      emit(buffer.records[i], instances, device, ring, may_wait);
    }
  } else {
    lost(GPUPROF_LOSS_DETAIL, records);
  }
  munmap(buffer.memory, buffer.bytes);
}

}  // namespace gpuprof::injection::cupti
