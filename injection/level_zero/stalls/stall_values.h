// Values of Level Zero's metrics, as a driver calculates them from what the hardware has sampled: rows of one value for
// each metric of the group, of which one is an address and the others are counts. What a driver hands over is not
// believed: rows that make no sense are counted and left out. No driver, no clock.
#pragma once

#include <level_zero/zet_api.h>

#include <cstdint>

#include "level_zero/stalls/stall_sums.h"

namespace gpuprof::injection::level_zero {

constexpr uint32_t kMaxMetrics = 64;         // of a group
constexpr uint32_t kNoReason = kMaxReasons;  // of a metric: its values are no counts of samples

// What is in a row.
struct StallLayout {
  uint32_t metrics = 0;
  uint32_t address = 0;               // which of them is
  uint32_t reason[kMaxMetrics] = {};  // of each metric, its number in StallSums; or kNoReason
  uint32_t reasons = 0;
};

// The name of a metric in the word for it that profiles have ("SbidStall" is "sbid"); null: it has none.
const char* stall_word(const char* metric);

// Adds metrics of the names and types to the layout. False: there is no address among them, no count, or too many.
bool make_layout(const zet_metric_properties_t* metrics, uint32_t count, StallLayout* layout);

// A row. False: its values are not what the layout says.
bool read_row(const StallLayout& layout, const zet_typed_value_t* row, StallSample* sample);

}  // namespace gpuprof::injection::level_zero
