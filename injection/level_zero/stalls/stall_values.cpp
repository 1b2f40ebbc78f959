#include "level_zero/stalls/stall_values.h"

#include <cstring>

namespace gpuprof::injection::level_zero {
namespace {

// The hardware reports addresses in units of 8 bytes, and usually only the low 29 bits.
constexpr uint32_t kAddressShift = 3;
constexpr uint64_t kMaxAddress = UINT64_MAX >> kAddressShift;

struct Word {
  const char* metric;
  const char* word;
};
constexpr Word kWords[] = {{"Active", "active"},  {"ControlStall", "control"},       {"PipeStall", "pipestall"},
                           {"SendStall", "send"}, {"DistStall", "dist_acc"},         {"SbidStall", "sbid"},
                           {"SyncStall", "sync"}, {"InstrFetchStall", "inst_fetch"}, {"OtherStall", "other"},
                           {"PSDepStall", "tdr"}};

// Compares the metric's name, because headers have a type for this metric only since Level Zero 1.9.
bool is_address(const zet_metric_properties_t& metric) {
  return strncmp(metric.name, "IP", sizeof(metric.name)) == 0;
}

bool is_count(const zet_metric_properties_t& metric) {
  const bool whole = metric.resultType == ZET_VALUE_TYPE_UINT32 || metric.resultType == ZET_VALUE_TYPE_UINT64;
  return whole && (metric.metricType == ZET_METRIC_TYPE_EVENT || metric.metricType == ZET_METRIC_TYPE_RAW);
}

bool whole_number(const zet_typed_value_t& value, uint64_t* number) {
  if (value.type == ZET_VALUE_TYPE_UINT32) {
    *number = value.value.ui32;
    return true;
  }
  *number = value.value.ui64;
  return value.type == ZET_VALUE_TYPE_UINT64;
}

}  // namespace

const char* stall_name(const char* metric) {
  for (const Word& one : kWords) {
    if (strncmp(metric, one.metric, ZET_MAX_METRIC_NAME) == 0) {
      return one.word;
    }
  }
  return nullptr;
}

bool make_layout(const zet_metric_properties_t* metrics, uint32_t count, StallLayout* layout) {
  *layout = {};
  if (count > kMaxMetrics) {
    return false;
  }
  bool has_address = false;
  for (uint32_t i = 0; i < count; ++i) {
    layout->reason[i] = kNoReason;
    if (!has_address && is_address(metrics[i])) {
      has_address = true;
      layout->address = i;
    } else if (is_count(metrics[i]) && metrics[i].name[0] != '\0' && layout->reasons < kMaxReasons) {
      layout->reason[i] = layout->reasons++;
    }
  }
  layout->metrics = count;
  return has_address && layout->reasons > 0;
}

bool read_row(const StallLayout& layout, const zet_typed_value_t* row, StallSample* sample) {
  *sample = {};
  uint64_t address = 0;
  if (!whole_number(row[layout.address], &address) || address > kMaxAddress) {
    return false;
  }
  sample->address = address << kAddressShift;
  for (uint32_t i = 0; i < layout.metrics; ++i) {
    if (layout.reason[i] == kNoReason) {
      continue;
    }
    uint64_t number = 0;
    if (!whole_number(row[i], &number) || number > UINT32_MAX) {
      return false;
    }
    sample->counts[layout.reason[i]] = static_cast<uint32_t>(number);
  }
  return true;
}

}  // namespace gpuprof::injection::level_zero
