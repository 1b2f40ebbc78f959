// EU stall samples through Level Zero's metrics. Each launch of a kernel leaves known samples, which can be read once
// the kernel has ended. The mock refuses what a driver would refuse. A call that a driver would not survive ends the
// process.
// "light" leaves active 1 and sbid 3 at +0x10, and send 2 at +0x38. "heavy" leaves active 4, dist_acc 4 and sync 1 at
// +0x40, and sbid 10 at +0x48. All other kernels leave active 1 and other 1 at +0x20.
#include <level_zero/zet_ddi.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <map>

#include "driver.h"

namespace gpuprof::mock {
namespace {

constexpr uint32_t kMetrics = 11;
constexpr std::array<const char*, kMetrics> kNames = {"IP",        "Active",          "PSDepStall", "ControlStall",
                                                      "PipeStall", "SendStall",       "DistStall",  "SbidStall",
                                                      "SyncStall", "InstrFetchStall", "OtherStall"};
enum Metric : uint32_t { kIp, kActive, kPs, kControl, kPipe, kSend, kDist, kSbid, kSync, kFetch, kOther };
constexpr uint64_t kForeign = 0x70000000;  // an address outside the program's code
constexpr uint32_t kPeriodStepNs = 251 * 52;

struct Report {
  uint32_t part;  // index of the sub-device
  uint32_t counts[kMetrics];
  uint64_t ip;  // as the hardware stores it: the low 29 bits of the address divided by 8
  uint64_t over;
};

struct Metrics;

struct MetricObject : Object {
  static constexpr Kind kKind = Kind::metric;
  uint32_t number = 0;
};

struct Group : Object {
  static constexpr Kind kKind = Kind::group;
  Metrics* of = nullptr;
  bool is_stalls = false;
};

struct Streamer : Object {
  static constexpr Kind kKind = Kind::streamer;
  Metrics* of = nullptr;
  Context* context = nullptr;
};

struct Metrics {
  Device* device = nullptr;
  Group* other = nullptr;  // a metric group that the profiler must ignore
  Group* stalls = nullptr;
  std::array<MetricObject*, kMetrics> metrics{};
  bool activated = false;
  Streamer* open = nullptr;
  std::deque<Report> reports;
  uint32_t reads = 0;
  uint32_t opened = 0;
  uint32_t calculated = 0;
};

Group* make_group(Metrics* of, bool is_stalls) {
  auto* group = make<Group>();
  group->of = of;
  group->is_stalls = is_stalls;
  return group;
}

// Returns the metrics of a whole device; sub-devices have no metrics of their own.
Metrics& metrics_of(Device& device) {
  static auto* all = new std::map<Device*, Metrics>;
  Metrics& metrics = (*all)[&device];
  if (metrics.device == nullptr) {
    metrics.device = &device;
    metrics.other = make_group(&metrics, false);
    metrics.stalls = make_group(&metrics, true);
    for (uint32_t i = 0; i < kMetrics; ++i) {
      metrics.metrics[i] = make<MetricObject>();
      metrics.metrics[i]->number = i;
    }
  }
  return metrics;
}

bool enabled() {
  const char* variable = getenv("ZET_ENABLE_METRICS");
  return variable != nullptr && strcmp(variable, "1") == 0;
}

ze_result_t ZE_APICALL get_groups(zet_device_handle_t handle, uint32_t* count, zet_metric_group_handle_t* groups) {
  const std::lock_guard<std::mutex> guard(the_lock());
  Device& device = object<Device>(handle);
  if (!enabled()) {
    return ZE_RESULT_ERROR_UNINITIALIZED;
  }
  if (ze_faults().stalls_no_library) {
    return ZE_RESULT_ERROR_DEPENDENCY_UNAVAILABLE;
  }
  Metrics& metrics = metrics_of(device);
  const bool has = device.whole == nullptr && !ze_faults().stalls_absent;
  const uint32_t there = has ? 2 : 1;
  if (*count == 0 || *count > there) {
    *count = there;
  }
  Group* const all[] = {metrics.other, metrics.stalls};
  for (uint32_t i = 0; groups != nullptr && i < *count; ++i) {
    groups[i] = reinterpret_cast<zet_metric_group_handle_t>(all[i]);
  }
  return ZE_RESULT_SUCCESS;
}

ze_result_t ZE_APICALL get_group_properties(zet_metric_group_handle_t handle,
                                            zet_metric_group_properties_t* properties) {
  const Group& group = object<Group>(handle);
  if (properties->stype != ZET_STRUCTURE_TYPE_METRIC_GROUP_PROPERTIES) {
    violation("zetMetricGroupGetProperties gets a structure of the wrong type");
  }
  strcpy(properties->name, group.is_stalls ? "EuStallSampling" : "ComputeBasic");
  properties->samplingType = ZET_METRIC_GROUP_SAMPLING_TYPE_FLAG_TIME_BASED;
  properties->domain = group.is_stalls ? 100 : 0;
  properties->metricCount = kMetrics;
  return ZE_RESULT_SUCCESS;
}

ze_result_t ZE_APICALL get_metrics(zet_metric_group_handle_t handle, uint32_t* count, zet_metric_handle_t* metrics) {
  const Group& group = object<Group>(handle);
  if (*count == 0 || *count > kMetrics) {
    *count = kMetrics;
  }
  for (uint32_t i = 0; metrics != nullptr && i < *count; ++i) {
    metrics[i] = reinterpret_cast<zet_metric_handle_t>(group.of->metrics[i]);
  }
  return ZE_RESULT_SUCCESS;
}

ze_result_t ZE_APICALL get_metric_properties(zet_metric_handle_t handle, zet_metric_properties_t* properties) {
  const MetricObject& metric = object<MetricObject>(handle);
  strcpy(properties->name, kNames[metric.number]);
  properties->resultType = ZET_VALUE_TYPE_UINT64;
  // The metric type of addresses is newer than the headers of this build.
  properties->metricType = metric.number == kIp ? static_cast<zet_metric_type_t>(0x10) : ZET_METRIC_TYPE_EVENT;
  return ZE_RESULT_SUCCESS;
}

ze_result_t ZE_APICALL activate(zet_context_handle_t context, zet_device_handle_t device, uint32_t count,
                                zet_metric_group_handle_t* groups) {
  const std::lock_guard<std::mutex> guard(the_lock());
  object<Context>(context);
  Metrics& metrics = metrics_of(object<Device>(device));
  if (metrics.open != nullptr && count == 0) {
    violation("metric groups are deactivated under an open streamer");
  }
  metrics.activated = false;
  for (uint32_t i = 0; i < count; ++i) {
    const Group& group = object<Group>(groups[i]);
    if (group.of != &metrics) {
      violation("a metric group of another device is activated");
    }
    metrics.activated = metrics.activated || group.is_stalls;
  }
  return ZE_RESULT_SUCCESS;
}

void say(const char* what) {
  if (ze_faults().stalls_say) {
    dprintf(STDOUT_FILENO, "stream %s\n", what);
  }
}

ze_result_t ZE_APICALL open_streamer(zet_context_handle_t context, zet_device_handle_t device,
                                     zet_metric_group_handle_t group, zet_metric_streamer_desc_t* description,
                                     ze_event_handle_t /*event*/, zet_metric_streamer_handle_t* streamer) {
  const std::lock_guard<std::mutex> guard(the_lock());
  Metrics& metrics = metrics_of(object<Device>(device));
  if (ze_faults().stalls_denied) {
    return ZE_RESULT_ERROR_INSUFFICIENT_PERMISSIONS;
  }
  if (ze_faults().stalls_busy) {
    return ZE_RESULT_ERROR_NOT_AVAILABLE;
  }
  if (!metrics.activated || !object<Group>(group).is_stalls) {
    return ZE_RESULT_NOT_READY;
  }
  if (metrics.open != nullptr) {
    return ZE_RESULT_ERROR_HANDLE_OBJECT_IN_USE;
  }
  // The first attempt to open a stream after a device reset fails, as on a device that has not recovered yet.
  if (++metrics.opened == 2 && ze_faults().stalls_lost) {
    return ZE_RESULT_ERROR_DEVICE_LOST;
  }
  const uint32_t steps = description->samplingPeriod / kPeriodStepNs;
  description->samplingPeriod = (steps < 1 ? 1 : steps > 7 ? 7 : steps) * kPeriodStepNs;
  metrics.open = make<Streamer>();
  metrics.open->of = &metrics;
  metrics.open->context = &object<Context>(context);
  ++metrics.open->context->live;
  *streamer = reinterpret_cast<zet_metric_streamer_handle_t>(metrics.open);
  say("open");
  return ZE_RESULT_SUCCESS;
}

ze_result_t ZE_APICALL close_streamer(zet_metric_streamer_handle_t handle) {
  const std::lock_guard<std::mutex> guard(the_lock());
  Streamer& streamer = object<Streamer>(handle);
  streamer.of->open = nullptr;
  --streamer.context->live;
  destroy<Streamer>(handle);
  say("closed");
  return ZE_RESULT_SUCCESS;
}

// Hangs without holding the lock, so that the driver answers the program's other calls.
void hang_if_stuck() {
  while (ze_faults().stalls_stuck) {
    pause();
  }
}

ze_result_t ZE_APICALL read_data(zet_metric_streamer_handle_t handle, uint32_t most, size_t* bytes, uint8_t* raw) {
  hang_if_stuck();
  const std::lock_guard<std::mutex> guard(the_lock());
  Metrics& metrics = *object<Streamer>(handle).of;
  if (*bytes == 0) {
    *bytes = 1000 * sizeof(Report);
    return ZE_RESULT_SUCCESS;
  }
  const bool has_data = !metrics.reports.empty() && metrics.reports.front().over <= now_ns();
  size_t written = 0;
  for (uint32_t i = 0; i < most && !metrics.reports.empty() && metrics.reports.front().over <= now_ns() &&
                       written + sizeof(Report) <= *bytes;
       ++i) {
    memcpy(raw + written, &metrics.reports.front(), sizeof(Report));
    metrics.reports.pop_front();
    written += sizeof(Report);
  }
  *bytes = written;
  if (has_data && ++metrics.reads == 1 && ze_faults().stalls_drop) {
    return ZE_RESULT_WARNING_DROPPED_DATA;
  }
  if (has_data && metrics.reads == 1 && ze_faults().stalls_lost) {
    return ZE_RESULT_ERROR_DEVICE_LOST;
  }
  return ZE_RESULT_SUCCESS;
}

void add_row(const Report& report, std::vector<zet_typed_value_t>* values) {
  for (uint32_t i = 0; i < kMetrics; ++i) {
    zet_typed_value_t value = {};
    value.type = ZET_VALUE_TYPE_UINT64;
    value.value.ui64 = i == kIp ? report.ip : report.counts[i];
    values->push_back(value);
  }
}

// Returns the values of the reports of one sub-device, one report after the other.
std::vector<zet_typed_value_t> values_of(Metrics& metrics, size_t bytes, const uint8_t* raw, uint32_t part) {
  if (bytes % sizeof(Report) != 0) {
    violation("values are calculated from an incomplete report");
  }
  std::vector<zet_typed_value_t> values;
  for (size_t at = 0; at < bytes; at += sizeof(Report)) {
    Report report = {};
    memcpy(&report, raw + at, sizeof(report));
    if (report.part == part) {
      add_row(report, &values);
    }
  }
  if (!values.empty() && ++metrics.calculated <= 2 &&
      ze_faults().stalls_wrong) {  // the profiler calls twice: for the count, then for the values
    values[kSbid].type = ZET_VALUE_TYPE_FLOAT32;
    values.resize(values.size() + 3);  // an incomplete row
  }
  return values;
}

ze_result_t give(const std::vector<zet_typed_value_t>& values, uint32_t* count, zet_typed_value_t* to) {
  const uint32_t room = *count;
  *count = static_cast<uint32_t>(values.size());
  if (to != nullptr && room < values.size()) {
    return ZE_RESULT_ERROR_INVALID_SIZE;
  }
  if (to != nullptr && !values.empty()) {
    memcpy(to, values.data(), values.size() * sizeof(values[0]));
  }
  return ZE_RESULT_SUCCESS;
}

ze_result_t ZE_APICALL calculate(zet_metric_group_handle_t group, zet_metric_group_calculation_type_t /*type*/,
                                 size_t bytes, const uint8_t* raw, uint32_t* count, zet_typed_value_t* to) {
  const std::lock_guard<std::mutex> guard(the_lock());
  Metrics& metrics = *object<Group>(group).of;
  return metrics.device->parts.empty() ? give(values_of(metrics, bytes, raw, 0), count, to)
                                       : ZE_RESULT_ERROR_INVALID_ARGUMENT;
}

ze_result_t ZE_APICALL calculate_multiple(zet_metric_group_handle_t group, zet_metric_group_calculation_type_t /*type*/,
                                          size_t bytes, const uint8_t* raw, uint32_t* sets, uint32_t* total,
                                          uint32_t* counts, zet_typed_value_t* to) {
  const std::lock_guard<std::mutex> guard(the_lock());
  Metrics& metrics = *object<Group>(group).of;
  if (ze_faults().stalls_one_set) {
    return ZE_RESULT_ERROR_UNSUPPORTED_FEATURE;
  }
  const auto parts = static_cast<uint32_t>(metrics.device->parts.size());
  const uint32_t there = parts == 0 ? 1 : parts;
  std::vector<zet_typed_value_t> all;
  for (uint32_t i = 0; i < there; ++i) {
    const auto values = values_of(metrics, bytes, raw, i);
    if (counts != nullptr && i < *sets) {
      counts[i] = static_cast<uint32_t>(values.size());
    }
    all.insert(all.end(), values.begin(), values.end());
  }
  *sets = there;
  return give(all, total, to);
}

void leave(Metrics& metrics, uint32_t part, uint64_t address, uint64_t over,
           std::initializer_list<std::pair<Metric, uint32_t>> counts) {
  Report report = {};
  report.part = part;
  report.ip = address >> 3U & 0x1FFFFFFFU;
  report.over = over;
  for (const auto& [metric, count] : counts) {
    report.counts[metric] = count;
  }
  metrics.reports.push_back(report);
}

}  // namespace

void sample_stalls(Device& device, const Kernel& kernel, uint64_t over) {
  Device& whole = device.whole != nullptr ? *device.whole : device;
  Metrics& metrics = metrics_of(whole);
  if (metrics.open == nullptr || over == kNever) {
    return;
  }
  const auto parts = static_cast<uint32_t>(whole.parts.size());
  for (uint32_t part = 0; part < (parts == 0 ? 1 : parts); ++part) {
    if (device.whole != nullptr && part != device.number) {
      continue;  // the kernel runs only on its own sub-device
    }
    if (kernel.name == "light") {
      leave(metrics, part, kernel.address + 0x10, over, {{kActive, 1}, {kSbid, 3}});
      leave(metrics, part, kernel.address + 0x38, over, {{kSend, 2}});
    } else if (kernel.name == "heavy") {
      leave(metrics, part, kernel.address + 0x40, over, {{kActive, 4}, {kDist, 4}, {kSync, 1}});
      leave(metrics, part, kernel.address + 0x48, over, {{kSbid, 10}});
    } else {
      leave(metrics, part, kernel.address + 0x20, over, {{kActive, 1}, {kOther, 1}});
    }
    if (ze_faults().stalls_foreign) {
      leave(metrics, part, kForeign, over, {{kActive, 5}});
    }
  }
}

}  // namespace gpuprof::mock

using namespace gpuprof::mock;  // NOLINT(google-build-using-namespace)

#define MOCK_PUBLIC extern "C" __attribute__((visibility("default")))

MOCK_PUBLIC ze_result_t ZE_APICALL zetGetContextProcAddrTable(ze_api_version_t, zet_context_dditable_t* to) {
  *to = {};
  to->pfnActivateMetricGroups = activate;
  return ZE_RESULT_SUCCESS;
}

MOCK_PUBLIC ze_result_t ZE_APICALL zetGetMetricGroupProcAddrTable(ze_api_version_t, zet_metric_group_dditable_t* to) {
  *to = {};
  to->pfnGet = get_groups;
  to->pfnGetProperties = get_group_properties;
  to->pfnCalculateMetricValues = calculate;
  return ZE_RESULT_SUCCESS;
}

MOCK_PUBLIC ze_result_t ZE_APICALL zetGetMetricGroupExpProcAddrTable(ze_api_version_t,
                                                                     zet_metric_group_exp_dditable_t* to) {
  to->pfnCalculateMultipleMetricValuesExp = calculate_multiple;
  return ZE_RESULT_SUCCESS;
}

MOCK_PUBLIC ze_result_t ZE_APICALL zetGetMetricProcAddrTable(ze_api_version_t, zet_metric_dditable_t* to) {
  *to = {};
  to->pfnGet = get_metrics;
  to->pfnGetProperties = get_metric_properties;
  return ZE_RESULT_SUCCESS;
}

MOCK_PUBLIC ze_result_t ZE_APICALL zetGetMetricStreamerProcAddrTable(ze_api_version_t,
                                                                     zet_metric_streamer_dditable_t* to) {
  *to = {};
  to->pfnOpen = open_streamer;
  to->pfnClose = close_streamer;
  to->pfnReadData = read_data;
  return ZE_RESULT_SUCCESS;
}
