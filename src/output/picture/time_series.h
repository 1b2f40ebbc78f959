// A heat map of a profile over time, as one self-contained interactive SVG: works from file:// with no network. As
// svg.h, it is two pictures in one file: a static one, and where scripts run one that selects a stretch of time and
// shows the command that folds it.
#pragma once

#include <cstddef>
#include <string>

#include "analyze/rows/time_series.h"
#include "output/weight.h"

namespace gpuprof::output {

// What a heat map shows well: columns of at most 60 cells. Its file then has at most 1 MB.
constexpr size_t kMostHeatCells = 7'200;

struct HeatMapOptions {
  std::string title = "GPU time over time";
  std::string subtitle;  // e.g. the command
  std::string facts;     // where and when it was recorded; empty if that is not known
  std::string notice;    // what is missing; empty if nothing
  WeightKind kind = WeightKind::time;
  std::string count_name = "launches";  // what Weight::count counts, plural
  // The words before and behind the window in a command that folds it: "gpuprof flame" and "-i gpuprof.txt".
  std::string command = "gpuprof flame";
  std::string command_options;
};

// Never fails. Time goes down each column, and columns from left to right. Numbers above 2^53 are exact in the static
// picture only.
std::string heat_map(const analyze::TimeSeries& series, const HeatMapOptions& options);

}  // namespace gpuprof::output
