// Makes the cells of a heat map: a profile's weights over time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "analyze/rows/aggregate.h"
#include "base/result.h"

namespace gpuprof::analyze {

struct TimeSeries {
  uint64_t start_ns = 0;      // start of the first cell, since the start of the recording
  uint64_t cell_ns = 0;       // length of a cell: one or several slices; any length if the profile has all events
  std::vector<Weight> cells;  // from start_ns to the end of the recording, or to the last work; empty without data
  // For each cell, how much of its time was recorded. Empty if the profile does not say when it recorded.
  std::vector<uint64_t> recorded_ns;
  // With --max-overhead, a cell has the work of the windows that began in it. So `recorded_ns` has their lengths.
  bool by_window_start = false;
  Weight total;

  // `cell` may also be cells.size(), for the end of the last cell.
  [[nodiscard]] uint64_t begin_ns(size_t cell) const { return start_ns + cell * cell_ns; }
};

// Makes up to `most_cells` cells of a round length. Needs AggregateOptions::slices = `measure`. For `gpu`, uses the
// events of a profile with --timeline, or samples if there is nothing else. Fails if the slice length is unknown or the
// time exceeds 64 bits of ns.
Result<TimeSeries> time_series(const Aggregate& rows, Measure measure, size_t most_cells);

}  // namespace gpuprof::analyze
