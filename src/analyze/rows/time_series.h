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
  uint64_t cell_ns = 0;       // length of a cell: one or several slices
  uint64_t interval_ns = 0;   // length of a slice
  std::vector<Weight> cells;  // from the start to the last nonzero one; empty without data
  Weight total;               // sum of all cells

  [[nodiscard]] uint64_t begin_ns(size_t cell) const { return start_ns + cell * cell_ns; }  // valid for the end, too
};

// Makes at most `most_cells` cells of one slice, or of a round number of slices. `rows` must be read with
// AggregateOptions::slices = `measure`. For `gpu`, uses samples if the profile has nothing else. Fails if the slice
// length is unknown, or if the recording is longer than 64 bits of ns.
Result<TimeSeries> time_series(const Aggregate& rows, Measure measure, size_t most_cells);

}  // namespace gpuprof::analyze
