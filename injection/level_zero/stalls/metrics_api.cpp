#include "level_zero/stalls/metrics_api.h"

namespace gpuprof::injection::level_zero {
namespace {

template <typename Function>
bool find(const char* name, Function* function) {
  *function = reinterpret_cast<Function>(find_function(name));
  return *function != nullptr;
}

}  // namespace

const char* bind_metrics(MetricsApi* zet) {
#define GPUPROF_ZET_FIND(name)    \
  if (!find(#name, &zet->name)) { \
    return #name;                 \
  }
  GPUPROF_ZET_FUNCTIONS(GPUPROF_ZET_FIND)
#undef GPUPROF_ZET_FIND
  find("zetMetricGroupCalculateMultipleMetricValuesExp", &zet->calculate_multiple);
  find("zetDeviceEnableMetricsExp", &zet->enable_metrics);
  return nullptr;
}

}  // namespace gpuprof::injection::level_zero
