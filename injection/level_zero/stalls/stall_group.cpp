#include "level_zero/stalls/stall_group.h"

#include <cstdlib>
#include <cstring>

#include "ipc/emit.h"

namespace gpuprof::injection::level_zero {
namespace {

constexpr uint32_t kMaxGroups = 4096;
constexpr char kName[] = "EuStallSampling";

// An array on the heap of the target, allocated on one of its threads. get() returns null if memory is exhausted.
template <typename T>
class Array {
 public:
  // NOLINTNEXTLINE(bugprone-sizeof-expression): handles are pointers
  explicit Array(uint32_t count) : items_(static_cast<T*>(calloc(count, sizeof(T)))) {}
  ~Array() { free(items_); }
  Array(const Array&) = delete;
  Array& operator=(const Array&) = delete;
  [[nodiscard]] T* get() const { return items_; }

 private:
  T* items_;
};

bool learn_metrics(const MetricsApi& zet, StallGroup* group) {
  zet_metric_handle_t handles[kMaxMetrics] = {};
  uint32_t count = 0;
  if (zet.zetMetricGet(group->handle, &count, nullptr) != ZE_RESULT_SUCCESS || count == 0 || count > kMaxMetrics) {
    return false;
  }
  const uint32_t wanted = count;
  const Array<zet_metric_properties_t> metrics(count);
  if (metrics.get() == nullptr || zet.zetMetricGet(group->handle, &count, handles) != ZE_RESULT_SUCCESS ||
      count != wanted) {
    return false;
  }
  for (uint32_t i = 0; i < count; ++i) {
    zet_metric_properties_t& metric = metrics.get()[i];
    metric.stype = ZET_STRUCTURE_TYPE_METRIC_PROPERTIES;
    if (handles[i] == nullptr || zet.zetMetricGetProperties(handles[i], &metric) != ZE_RESULT_SUCCESS) {
      return false;
    }
    metric.name[ZET_MAX_METRIC_NAME - 1] = '\0';
  }
  if (!make_layout(metrics.get(), count, &group->layout)) {
    return false;
  }
  for (uint32_t i = 0; i < count; ++i) {
    if (const uint32_t reason = group->layout.reason[i]; reason != kNoReason) {
      const char* word = stall_name(metrics.get()[i].name);
      group->reason_ids[reason] = name_id(word != nullptr ? word : metrics.get()[i].name);
    }
  }
  return true;
}

bool is_stall_group(const MetricsApi& zet, zet_metric_group_handle_t handle) {
  zet_metric_group_properties_t properties = {};
  properties.stype = ZET_STRUCTURE_TYPE_METRIC_GROUP_PROPERTIES;
  return zet.zetMetricGroupGetProperties(handle, &properties) == ZE_RESULT_SUCCESS &&
         (properties.samplingType & ZET_METRIC_GROUP_SAMPLING_TYPE_FLAG_TIME_BASED) != 0 &&
         strncmp(properties.name, kName, sizeof(properties.name)) == 0;
}

}  // namespace

ze_result_t find_stall_group(const MetricsApi& zet, ze_device_handle_t device, StallGroup* group) {
  *group = {};
  uint32_t count = 0;
  ze_result_t result = zet.zetMetricGroupGet(device, &count, nullptr);
  if (result != ZE_RESULT_SUCCESS || count == 0) {
    return result;
  }
  count = count < kMaxGroups ? count : kMaxGroups;
  const uint32_t room = count;
  const Array<zet_metric_group_handle_t> handles(room);
  if (handles.get() == nullptr) {
    return ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY;
  }
  result = zet.zetMetricGroupGet(device, &count, handles.get());
  for (uint32_t i = 0; result == ZE_RESULT_SUCCESS && i < count && i < room; ++i) {
    if (handles.get()[i] != nullptr && is_stall_group(zet, handles.get()[i])) {
      group->handle = handles.get()[i];
      if (!learn_metrics(zet, group)) {
        group->handle = nullptr;
        return ZE_RESULT_ERROR_UNSUPPORTED_ENUMERATION;  // the group has no address metric or no counters
      }
      return ZE_RESULT_SUCCESS;
    }
  }
  return result;
}

}  // namespace gpuprof::injection::level_zero
