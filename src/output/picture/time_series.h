// Draws a heat map of a profile over time as one self-contained interactive SVG for file:// without a network. Besides
// the static picture, a script lets the user select a time range and shows the command for its flame graph.
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
  std::string subtitle;  // e.g. the command
  std::string facts;     // where and when it was recorded; empty if unknown
  std::string notice;    // missing data; empty if none is missing
  WeightKind kind = WeightKind::time;
  std::string count_name = "launches";  // what Weight::count counts, plural
  // The map shows a command for the selected time range: `command`, --from and --to, then `command_options`.
  std::string command = "gpuprof flame";
  std::string command_options;
};

// Never fails. Time runs down each column, then from left to right. Only the static picture is exact above 2^53.
std::string heat_map(const analyze::TimeSeries& series, const HeatMapOptions& options);

}  // namespace gpuprof::output
