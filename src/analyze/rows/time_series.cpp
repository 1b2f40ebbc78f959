#include "analyze/rows/time_series.h"

#include <array>

namespace gpuprof::analyze {
namespace {

// Preferred numbers of blocks per cell. If a block lasts a second, a cell is a divisor or a multiple of a minute.
constexpr std::array<uint64_t, 8> kSteps{1, 2, 5, 10, 20, 30, 60, 120};

uint64_t blocks_in_cell(size_t blocks, size_t most_cells) {
  for (const uint64_t step : kSteps) {
    if ((blocks + step - 1) / step <= most_cells) {
      return step;
    }
  }
  return (blocks + most_cells - 1) / most_cells;
}

bool fits(const SliceSums& sums, uint64_t cell_slices, size_t cells, uint64_t interval_ns) {
  uint64_t slices = 0;
  uint64_t end = 0;
  return !__builtin_mul_overflow(cell_slices, cells, &slices) && !__builtin_add_overflow(slices, sums.origin(), &end) &&
         !__builtin_mul_overflow(end, interval_ns, &end);
}

}  // namespace

Result<TimeSeries> time_series(const Aggregate& rows, Measure measure, size_t most_cells) {
  if (rows.interval_ns == 0) {
    return Error{"cannot show the profile over time: the length of its time slices (META interval_ns) is missing",
                 "profiles made by `gpuprof record` contain it"};
  }
  const bool of_samples =
      measure == Measure::samples || (measure == Measure::gpu && rows.info.kind == ProfileKind::stall_samples);
  const SliceSums& sums = of_samples ? rows.sample_slices : rows.slices;
  const std::vector<Weight> blocks = sums.blocks();
  const uint64_t step = blocks_in_cell(blocks.size(), most_cells);
  TimeSeries series;
  series.interval_ns = rows.interval_ns;
  series.cells.resize((blocks.size() + step - 1) / step);
  if (!fits(sums, step * sums.width(), series.cells.size(), rows.interval_ns)) {
    return Error{"the end of the profile's last time slice exceeds 64 bits of nanoseconds",
                 "the profile's slice numbers or its META interval_ns are wrong"};
  }
  series.start_ns = sums.origin() * rows.interval_ns;
  series.cell_ns = step * sums.width() * rows.interval_ns;
  for (size_t i = 0; i < blocks.size(); ++i) {
    series.cells[i / step] += blocks[i];
    series.total += blocks[i];
  }
  return series;
}

}  // namespace gpuprof::analyze
