// SASS metrics with the real library's rules. The profiler is initialized first. A device is configured once per
// process, before counting is enabled in a context. Each struct contains its size, as in the headers that its caller
// was compiled with. Data is read while counting is enabled, and reading waits for the GPU. Nothing is counted while
// kernel activity records are on, or while nobody subscribes to context callbacks. The counts per kernel are known: see
// mock_cupti_sass.h.
#include "mock_cupti_sass.h"

#include <cupti_profiler_target.h>
#include <cupti_sass_metrics.h>
#include <cupti_target.h>
#include <unistd.h>

#include <cstring>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "mock_cupti_buffers.h"
#include "mock_cupti_sampling.h"
#include "mock_faults.h"

namespace mock = gpuprof::mock;

namespace {

constexpr const char* kMetrics[] = {"smsp__sass_inst_executed", "smsp__sass_thread_inst_executed",
                                    "smsp__sass_sectors_mem_global", "smsp__sass_sectors_mem_global_ideal"};
constexpr uint64_t kFirstId = 0x700;

struct Place {
  uint32_t offset;
  uint64_t (*value)(size_t metric);  // returns the count of one launch
};
// A strided load at 0x10 that uses an eighth of each sector, and an instruction at 0x90 with half of its threads.
constexpr Place kPlaces[] = {{0x10,
                              [](size_t metric) {
                                return uint64_t{metric == 0 ? 8U : metric == 1 ? 256U : metric == 2 ? 256U : 32U};
                              }},
                             {0x90, [](size_t metric) {
                                return uint64_t{metric == 0 ? 8U : metric == 1 ? 128U : 0U};
                              }}};

using Key = std::tuple<uint64_t, std::string, uint32_t, size_t>;  // code, function, offset, metric

struct Context {
  bool enabled = false;
  std::map<Key, uint64_t> counted;
  // The counts that the current flush returns. Its size query takes them; later counts are lost.
  std::map<Key, uint64_t> told;
};

struct Sass {
  std::mutex mutex;
  bool initialized = false;
  std::map<uint32_t, std::vector<size_t>> configured;  // key: device index
  std::map<uint32_t, Context> contexts;                // key: context id
  std::set<std::string> names;                         // never freed, as in the real library
};

Sass& sass() {
  static auto* the_sass = new Sass;
  return *the_sass;
}
// Created when the library is loaded: a launch that waits for the creation could change errno.
[[maybe_unused]] const Sass& made_at_load = sass();

constinit thread_local bool unloading = false;

void must_not_unload() {
  if (unloading) {
    mock::violation("counts are read in the callback for a module that is unloaded");
  }
}

bool sound(size_t size, size_t expected) {
  if (size != expected) {
    mock::violation("a struct of SASS metrics gives a wrong size");
  }
  return true;
}

Context* enabled_context(CUcontext context) {
  uint32_t id = 0;
  uint32_t device = 0;
  if (!mock::context_of(context, &id, &device)) {
    return nullptr;
  }
  Context& found = sass().contexts[id];
  return found.enabled ? &found : nullptr;
}

}  // namespace

namespace gpuprof::mock {

void begin_unload(uint32_t module) {
  unloading = true;
  const uint64_t crc = crc_of_module(module);
  const std::lock_guard lock(sass().mutex);
  for (auto& [id, context] : sass().contexts) {
    std::erase_if(context.counted, [crc](const auto& counted) { return std::get<0>(counted.first) == crc; });
  }
}

void end_unload() {
  unloading = false;
}

void count_op(const Op& op, bool beside_records, bool patches_told) {
  Sass& s = sass();
  if (op.kind != OpKind::kernel) {
    return;
  }
  const std::lock_guard lock(s.mutex);
  const auto found = s.contexts.find(op.context);
  if (found == s.contexts.end() || !found->second.enabled || beside_records || !patches_told) {
    return;
  }
  for (const Place& place : kPlaces) {
    for (const size_t metric : s.configured[op.device]) {
      if (place.value(metric) != 0) {
        found->second.counted[{crc_of_module(op.module), op.name, place.offset, metric}] += place.value(metric);
      }
    }
  }
}

}  // namespace gpuprof::mock

extern "C" {

CUptiResult cuptiProfilerInitialize(CUpti_Profiler_Initialize_Params* params) {
  sound(params->structSize, CUpti_Profiler_Initialize_Params_STRUCT_SIZE);
  const std::lock_guard lock(sass().mutex);
  sass().initialized = true;
  return CUPTI_SUCCESS;
}

CUptiResult cuptiDeviceGetChipName(CUpti_Device_GetChipName_Params* params) {
  sound(params->structSize, CUpti_Device_GetChipName_Params_STRUCT_SIZE);
  const std::lock_guard lock(sass().mutex);
  if (!sass().initialized) {
    return CUPTI_ERROR_NOT_INITIALIZED;
  }
  params->pChipName = "GH100";
  return CUPTI_SUCCESS;
}

CUptiResult cuptiSassMetricsGetProperties(CUpti_SassMetrics_GetProperties_Params* params) {
  sound(params->structSize, CUpti_SassMetrics_GetProperties_Params_STRUCT_SIZE);
  for (size_t i = 0; i < std::size(kMetrics); ++i) {
    if (strcmp(params->pMetricName, kMetrics[i]) == 0) {
      params->metric = {kFirstId + i, kMetrics[i], ""};
      return CUPTI_SUCCESS;
    }
  }
  return CUPTI_ERROR_INVALID_PARAMETER;
}

CUptiResult cuptiSassMetricsSetConfig(CUpti_SassMetricsSetConfig_Params* params) {
  sound(params->structSize, CUpti_SassMetricsSetConfig_Params_STRUCT_SIZE);
  if (const uint64_t refusal = mock::faults().refuse_counting; refusal != 0) {
    return static_cast<CUptiResult>(refusal);
  }
  const std::lock_guard lock(sass().mutex);
  if (sass().configured.contains(params->deviceIndex)) {
    return CUPTI_ERROR_OUT_OF_MEMORY;  // the real library's error for a second user
  }
  std::vector<size_t>& metrics = sass().configured[params->deviceIndex];
  for (size_t i = 0; i < params->numOfMetricConfig; ++i) {
    if (params->pConfigs[i].outputGranularity != CUPTI_SASS_METRICS_OUTPUT_GRANULARITY_GPU) {
      mock::violation("counts are requested for each SM instead of the GPU");
    }
    metrics.push_back(params->pConfigs[i].metricId - kFirstId);
  }
  return CUPTI_SUCCESS;
}

CUptiResult cuptiSassMetricsEnable(CUpti_SassMetricsEnable_Params* params) {
  sound(params->structSize, CUpti_SassMetricsEnable_Params_STRUCT_SIZE);
  uint32_t id = 0;
  uint32_t device = 0;
  if (!mock::context_of(params->ctx, &id, &device)) {
    return CUPTI_ERROR_INVALID_CONTEXT;
  }
  const std::lock_guard lock(sass().mutex);
  Context& context = sass().contexts[id];
  if (context.enabled || !sass().configured.contains(device)) {
    return CUPTI_ERROR_INVALID_OPERATION;
  }
  context.enabled = true;
  return CUPTI_SUCCESS;
}

CUptiResult cuptiSassMetricsDisable(CUpti_SassMetricsDisable_Params* params) {
  sound(params->structSize, CUpti_SassMetricsDisable_Params_STRUCT_SIZE);
  const std::lock_guard lock(sass().mutex);
  Context* context = enabled_context(params->ctx);
  if (context == nullptr) {
    return CUPTI_ERROR_INVALID_OPERATION;
  }
  params->numOfDroppedRecords = context->counted.size();
  *context = {};
  return CUPTI_SUCCESS;
}

CUptiResult cuptiSassMetricsGetDataProperties(CUpti_SassMetricsGetDataProperties_Params* params) {
  must_not_unload();
  sound(params->structSize, CUpti_SassMetricsGetDataProperties_Params_STRUCT_SIZE);
  const std::lock_guard lock(sass().mutex);
  Context* context = enabled_context(params->ctx);
  if (context == nullptr) {
    return CUPTI_ERROR_INVALID_OPERATION;
  }
  context->told = context->counted;
  params->numOfPatchedInstructionRecords = context->told.size();
  params->numOfInstances = 1;
  return CUPTI_SUCCESS;
}

CUptiResult cuptiSassMetricsFlushData(CUpti_SassMetricsFlushData_Params* params) {
  usleep(2000);  // other threads can launch now, unless the client blocks them
  sound(params->structSize, CUpti_SassMetricsFlushData_Params_STRUCT_SIZE);
  const std::lock_guard lock(sass().mutex);
  Context* context = enabled_context(params->ctx);
  if (context == nullptr || params->numOfInstances != 1) {
    return CUPTI_ERROR_INVALID_OPERATION;
  }
  size_t i = 0;
  while (!context->told.empty() && i < params->numOfPatchedInstructionRecords) {
    const auto& [key, value] = *context->told.begin();
    const auto& [crc, function, offset, metric] = key;
    CUpti_SassMetrics_Data& data = params->pMetricsData[i++];
    sound(data.structSize, CUpti_SassMetricsFlushData_Params_STRUCT_SIZE);
    data.cubinCrc = static_cast<uint32_t>(crc);
    data.functionName = sass().names.insert(function).first->c_str();
    data.pcOffset = offset;
    data.pInstanceValues[0] = {kFirstId + metric, value};
    context->told.erase(context->told.begin());
  }
  context->counted.clear();
  return CUPTI_SUCCESS;
}

}  // extern "C"
