// Interprets rows of Level Zero metrics, which a driver calculates from hardware samples: one metric is an address,
// others are counts. Invalid rows are counted and ignored.
#pragma once

#include <level_zero/zet_api.h>

#include <cstdint>

#include "level_zero/stalls/stall_sums.h"

namespace gpuprof::injection::level_zero {

constexpr uint32_t kMaxMetrics = 64;         // limit for the metrics of a group
constexpr uint32_t kNoReason = kMaxReasons;  // for a metric whose values are not sample counts

struct StallLayout {
  uint32_t metrics = 0;
  uint32_t address = 0;               // index of the address metric
  uint32_t reason[kMaxMetrics] = {};  // per metric: index in StallSample::counts, or kNoReason
  uint32_t reasons = 0;
};

// Returns the profile's name for a metric ("SbidStall" is "sbid"). Null: unknown.
const char* stall_name(const char* metric);

// Builds the layout. Returns false if the metrics include no address or no count, or are too many.
bool make_layout(const zet_metric_properties_t* metrics, uint32_t count, StallLayout* layout);

// Reads a row. Returns false if its values do not match the layout.
bool read_row(const StallLayout& layout, const zet_typed_value_t* row, StallSample* sample);

}  // namespace gpuprof::injection::level_zero
