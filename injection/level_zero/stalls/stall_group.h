// Finds the metric group of a device whose samples have addresses. Intel's driver calls it "EuStallSampling".
#pragma once

#include "level_zero/stalls/metrics_api.h"
#include "level_zero/stalls/stall_values.h"

namespace gpuprof::injection::level_zero {

struct StallGroup {
  zet_metric_group_handle_t handle = nullptr;  // null if the device has no such group
  StallLayout layout;
  uint32_t reason_ids[kMaxReasons] = {};  // name ids
};

// Finds the group. If the device has no such group, succeeds with a null handle.
ze_result_t find_stall_group(const MetricsApi& zet, ze_device_handle_t device, StallGroup* group);

}  // namespace gpuprof::injection::level_zero
