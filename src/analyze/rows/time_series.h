// What a profile holds over time, as the cells of a heat map.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "analyze/rows/aggregate.h"
#include "base/result.h"

namespace gpuprof::analyze {

struct TimeSeries {
  uint64_t start_ns = 0;      // of the first cell, since the start of the recording
  uint64_t cell_ns = 0;       // what a cell lasts: one slice or several
  uint64_t interval_ns = 0;   // what a slice lasts
  std::vector<Weight> cells;  // from the first to the last with something in it, and none where nothing is
  Weight total;               // of all cells

  [[nodiscard]] uint64_t begin_ns(size_t cell) const { return start_ns + cell * cell_ns; }  // also of the end: fits
};

// A cell is a slice where that makes at most that many cells, else as many slices as people count in. From rows with
// AggregateOptions::slices, of that measure: samples where the profile has nothing else for `gpu`. Fails where the
// profile does not say what a slice lasts, or lasts longer than 64 bits of ns.
Result<TimeSeries> time_series(const Aggregate& rows, Measure measure, size_t most_cells);

}  // namespace gpuprof::analyze
