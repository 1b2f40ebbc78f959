// Binds the functions of Level Zero's metrics. Some are not in every loader.
#pragma once

#include <level_zero/zet_api.h>

#include "level_zero/api/api.h"

namespace gpuprof::injection::level_zero {

#define GPUPROF_ZET_FUNCTIONS(function)                                                                                \
  function(zeContextCreate) function(zeContextDestroy) function(zetContextActivateMetricGroups) function(zetMetricGet) \
      function(zetMetricGetProperties) function(zetMetricGroupCalculateMetricValues) function(zetMetricGroupGet)       \
          function(zetMetricGroupGetProperties) function(zetMetricStreamerClose) function(zetMetricStreamerOpen)       \
              function(zetMetricStreamerReadData)

struct MetricsApi {
#define GPUPROF_ZET_MEMBER(name) decltype(&::name) name;  // NOLINT(bugprone-macro-parentheses)
  GPUPROF_ZET_FUNCTIONS(GPUPROF_ZET_MEMBER)
#undef GPUPROF_ZET_MEMBER
  // The following functions are null if the loader lacks them:
  decltype(&::zetMetricGroupCalculateMultipleMetricValuesExp) calculate_multiple;
  ze_result_t(ZE_APICALL* enable_metrics)(zet_device_handle_t);  // zetDeviceEnableMetricsExp, of Level Zero 1.13
};

// Binds all functions. Returns the name of a missing required function, or null.
const char* bind_metrics(MetricsApi* zet);

}  // namespace gpuprof::injection::level_zero
