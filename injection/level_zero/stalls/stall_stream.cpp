#include "level_zero/stalls/stall_stream.h"

namespace gpuprof::injection::level_zero {
namespace {

constexpr auto kValuesOf = ZET_METRIC_GROUP_CALCULATION_TYPE_METRIC_VALUES;

bool is_answer(ze_result_t result) {
  return result == ZE_RESULT_SUCCESS || result == ZE_RESULT_WARNING_DROPPED_DATA;
}

}  // namespace

ze_result_t StallStream::open(const MetricsApi& zet, ze_driver_handle_t driver, ze_device_handle_t device,
                              const StallGroup& group, uint32_t period_ns) {
  const ze_context_desc_t description = {ZE_STRUCTURE_TYPE_CONTEXT_DESC, nullptr, 0};
  ze_result_t result = zet.zeContextCreate(driver, &description, &context_);
  if (result != ZE_RESULT_SUCCESS) {
    context_ = nullptr;
    return result;
  }
  device_ = device;
  zet_metric_group_handle_t handle = group.handle;
  result = zet.zetContextActivateMetricGroups(context_, device, 1, &handle);
  if (result == ZE_RESULT_SUCCESS) {
    zet_metric_streamer_desc_t wanted = {};
    wanted.stype = ZET_STRUCTURE_TYPE_METRIC_STREAMER_DESC;
    wanted.notifyEveryNReports = 1;
    wanted.samplingPeriod = period_ns;
    result = zet.zetMetricStreamerOpen(context_, device, group.handle, &wanted, nullptr, &streamer_);
    period_ns_ = wanted.samplingPeriod;
  }
  if (result != ZE_RESULT_SUCCESS || streamer_ == nullptr) {
    streamer_ = nullptr;
    close(zet);
    return result != ZE_RESULT_SUCCESS ? result : ZE_RESULT_ERROR_UNKNOWN;
  }
  return ZE_RESULT_SUCCESS;
}

void StallStream::close(const MetricsApi& zet) {
  if (streamer_ != nullptr) {
    zet.zetMetricStreamerClose(streamer_);
    streamer_ = nullptr;
  }
  if (context_ != nullptr) {
    zet.zetContextActivateMetricGroups(context_, device_, 0, nullptr);
    zet.zeContextDestroy(context_);
    context_ = nullptr;
  }
}

StallStream::Read StallStream::read(const MetricsApi& zet, const StallGroup& group, StallBuffers* buffers) {
  Read read;
  size_t bytes = StallBuffers::kRawBytes;
  ze_result_t result = zet.zetMetricStreamerReadData(streamer_, UINT32_MAX, &bytes, buffers->raw);
  if (result == ZE_RESULT_NOT_READY) {
    return read;
  }
  if (!is_answer(result)) {
    read.outcome = Outcome::lost;
    return read;
  }
  read.dropped = result == ZE_RESULT_WARNING_DROPPED_DATA;
  if (bytes > StallBuffers::kRawBytes) {
    read.malformed = true;
    return read;
  }
  if (bytes == 0) {
    return read;
  }
  read.outcome = Outcome::rows;
  result = calculate(zet, group, bytes, buffers, &read);
  read.dropped = read.dropped || result == ZE_RESULT_WARNING_DROPPED_DATA;
  if (!is_answer(result)) {
    read.malformed = true;
    read.sets = 0;
  }
  return read;
}

// A driver must first be asked for the number of values.
ze_result_t StallStream::calculate(const MetricsApi& zet, const StallGroup& group, size_t bytes, StallBuffers* buffers,
                                   Read* read) {
  uint32_t total = 0;
  ze_result_t result = ZE_RESULT_ERROR_UNSUPPORTED_FEATURE;
  if (zet.calculate_multiple != nullptr && !no_sets_) {
    uint32_t sets = 0;
    result = zet.calculate_multiple(group.handle, kValuesOf, bytes, buffers->raw, &sets, &total, nullptr, nullptr);
    if (is_answer(result) && (sets > kMaxSubDevices || total > StallBuffers::kValues)) {
      return ZE_RESULT_ERROR_UNSUPPORTED_SIZE;
    }
    if (is_answer(result) && sets > 0 && total > 0) {
      result = zet.calculate_multiple(group.handle, kValuesOf, bytes, buffers->raw, &sets, &total, read->count,
                                      buffers->values);
      read->sets = sets <= kMaxSubDevices ? sets : 0;
      uint64_t sum = 0;
      for (uint32_t i = 0; i < read->sets; ++i) {
        sum += read->count[i];
      }
      return sets > kMaxSubDevices || sum > total || total > StallBuffers::kValues ? ZE_RESULT_ERROR_UNSUPPORTED_SIZE
                                                                                   : result;
    }
    no_sets_ = result == ZE_RESULT_ERROR_UNSUPPORTED_FEATURE || result == ZE_RESULT_ERROR_UNINITIALIZED;
    if (!no_sets_) {
      return result;
    }
    total = 0;
  }
  result = zet.zetMetricGroupCalculateMetricValues(group.handle, kValuesOf, bytes, buffers->raw, &total, nullptr);
  if (!is_answer(result) || total == 0) {
    return result;
  }
  if (total > StallBuffers::kValues) {
    return ZE_RESULT_ERROR_UNSUPPORTED_SIZE;
  }
  const uint32_t most = total;
  result =
      zet.zetMetricGroupCalculateMetricValues(group.handle, kValuesOf, bytes, buffers->raw, &total, buffers->values);
  read->sets = 1;
  read->count[0] = total;
  return total > most ? ZE_RESULT_ERROR_UNSUPPORTED_SIZE : result;
}

const char* stall_refusal(ze_result_t result) {
  switch (static_cast<uint32_t>(result)) {
    case ZE_RESULT_SUCCESS:
    case ZE_RESULT_ERROR_UNSUPPORTED_FEATURE:
      return "the Level Zero driver offers no EU stall sampling for this GPU: it needs Ponte Vecchio, Xe2 or later, "
             "and usually root, or sysctl dev.xe.observation_paranoid=0 (of i915: dev.i915.perf_stream_paranoid=0)";
    case ZE_RESULT_ERROR_INSUFFICIENT_PERMISSIONS:
      return "the kernel lets only administrators sample the GPU: run as root, or set sysctl "
             "dev.xe.observation_paranoid=0 (of i915: dev.i915.perf_stream_paranoid=0)";
    case ZE_RESULT_ERROR_NOT_AVAILABLE:
    case ZE_RESULT_ERROR_HANDLE_OBJECT_IN_USE:
      return "another tool or another recorded process already samples this GPU, which allows only one: stop the tool, "
             "or record one process";
    case ZE_RESULT_ERROR_DEPENDENCY_UNAVAILABLE:
      return "the Level Zero driver lacks a library for its metrics: install Intel's metrics discovery (Debian, "
             "Ubuntu: apt install libigdmd1 or intel-metrics-discovery)";
    case ZE_RESULT_ERROR_UNINITIALIZED:
      return "the program has initialized Level Zero without its metrics: leave ZET_ENABLE_METRICS=1 as record sets "
             "it, and start the program with record, not -p";
    case ZE_RESULT_ERROR_UNSUPPORTED_ENUMERATION:
      return "the driver's metric group for EU stalls has no addresses, or no counts: another version of the driver "
             "may have them";
    case ZE_RESULT_NOT_READY:
      return "the driver does not activate its metric group for EU stalls: another tool may use the GPU's metrics";
    case ZE_RESULT_ERROR_DEVICE_LOST:
      return "the GPU was reset repeatedly: its sampling stopped";
    default:
      return "the Level Zero driver refuses to sample: another tool may use the GPU's stream of stalls, or the kernel "
             "lets only administrators sample (run as root, or set sysctl dev.xe.observation_paranoid=0)";
  }
}

}  // namespace gpuprof::injection::level_zero
