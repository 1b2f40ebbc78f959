// Draws a heat map of a profile over time, as one self-contained interactive SVG that works from file:// without a
// network. The static picture is complete. A script lets the user select a time range, and shows the command for a
// flame graph of that range.
#pragma once

#include <cstddef>
#include <string>

#include "analyze/rows/time_series.h"
#include "output/weight.h"

namespace gpuprof::output {

// Largest number of cells in a map: 120 columns of 60 cells. The file then has at most 1 MB.
constexpr size_t kMostHeatCells = 7'200;

struct HeatMapOptions {
  std::string title = "GPU time over time";
  std::string subtitle;    // for example the command
  std::string facts;       // where and when the profile was recorded; empty if unknown
  std::string range;       // the option that limited the recording to an NVTX range; empty if nothing did
  bool is_subset = false;  // the profile is a subset of another, so it may lack time that was recorded
  std::string notice;      // which data are missing; empty if nothing is missing
  WeightKind kind = WeightKind::time;
  WeightNames names;
  // The map shows a command for the selected time range: `command`, then --from and --to, then `command_options`.
  std::string command = "gpuprof flame";
  std::string command_options;
};

// Never fails. Time runs down each column, and continues in the next column to the right. Numbers above 2^53 are exact
// only in the static picture.
std::string heat_map(const analyze::TimeSeries& series, const HeatMapOptions& options);

}  // namespace gpuprof::output
