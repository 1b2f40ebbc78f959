// Interprets rows of values, one per metric, that a driver calculates from hardware samples. One metric is an address,
// others are sample counts. The caller counts invalid rows and ignores them.
#pragma once

#include <level_zero/zet_api.h>

#include <cstdint>

#include "level_zero/stalls/stall_sums.h"

namespace gpuprof::injection::level_zero {

constexpr uint32_t kMaxMetrics = 64;
constexpr uint32_t kNoReason = kMaxReasons;  // value of StallLayout::reason for a metric that is not a sample count

struct StallLayout {
  uint32_t metrics = 0;
  uint32_t address = 0;               // index of the address metric
  uint32_t reason[kMaxMetrics] = {};  // for each metric, its index in StallSample::counts, or kNoReason
  uint32_t reasons = 0;
};

// Returns the profile's name for a metric: "sbid" for "SbidStall". Returns null for an unknown metric.
const char* stall_name(const char* metric);

// Builds the layout. Returns false if the metrics lack an address or a sample count, or if they are too many.
bool make_layout(const zet_metric_properties_t* metrics, uint32_t count, StallLayout* layout);

// Reads a row. Returns false if its values do not match the layout.
bool read_row(const StallLayout& layout, const zet_typed_value_t* row, StallSample* sample);

}  // namespace gpuprof::injection::level_zero
