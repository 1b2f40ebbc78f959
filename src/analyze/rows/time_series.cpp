#include "analyze/rows/time_series.h"

#include <algorithm>
#include <array>
#include <optional>

#include "analyze/subsets/subset_meta.h"
#include "base/saturating_add.h"

namespace gpuprof::analyze {
namespace {

// Preferred numbers of blocks per cell. If a block lasts a second, a cell is a divisor or a multiple of a minute.
constexpr std::array<uint64_t, 8> kSteps{1, 2, 5, 10, 20, 30, 60, 120};

// `blocks` may be any 64-bit number, because a forged window may have any end.
uint64_t cells_for(uint64_t blocks, uint64_t blocks_in_cell) {
  return blocks == 0 ? 0 : (blocks - 1) / blocks_in_cell + 1;
}

uint64_t blocks_in_cell(uint64_t blocks, size_t most_cells) {
  for (const uint64_t step : kSteps) {
    if (cells_for(blocks, step) <= most_cells) {
      return step;
    }
  }
  return cells_for(blocks, most_cells);
}

// Returns false if the end of the last cell exceeds 64 bits.
bool fits(const TimeSeries& series) {
  uint64_t ns = 0;
  return !__builtin_mul_overflow(series.cell_ns, series.cells.size(), &ns) &&
         !__builtin_add_overflow(series.start_ns, ns, &ns);
}

Error beyond_64_bits() {
  return {"the end of the profile's last time slice exceeds 64 bits of nanoseconds",
          "the profile's slice numbers or its META interval_ns are wrong"};
}

// Returns the selected time. If the profile is a subset by time slices, returns the part of it in these slices. Returns
// nullopt if the WINDOW lines do not say what was recorded. This is so if the profile is cut short, if it has several
// intervals of another profile, or if only some of its processes have windows of --max-overhead.
std::optional<TimeWindow> described_time(const Aggregate& rows) {
  if (!rows.info.complete || rows.windows.empty() || rows.info.is_partly_estimate()) {
    return std::nullopt;
  }
  return time_in_slices(rows.info.meta, rows.selected_window());
}

// Adds the time of a part of the recording to the cells that it overlaps. Parts must be ascending and disjoint.
void add_recorded(uint64_t from_ns, uint64_t to_ns, TimeSeries& series) {
  from_ns = std::max(from_ns, series.start_ns);
  to_ns = std::min(to_ns, series.begin_ns(series.cells.size()));
  while (from_ns < to_ns) {
    const auto cell = static_cast<size_t>((from_ns - series.start_ns) / series.cell_ns);
    const uint64_t end = std::min(to_ns, series.begin_ns(cell + 1));
    series.recorded_ns[cell] += end - from_ns;
    from_ns = end;
  }
}

// Adds each complete window to the cell of its start.
void add_windows(const Aggregate& rows, const TimeWindow& time, uint64_t start_ns, TimeSeries& series) {
  const uint64_t end_ns = std::min(time.to_ns, series.begin_ns(series.cells.size()));
  for (const profile::Window& window : rows.windows) {
    const uint64_t from_ns = window.start_ns - std::min(window.start_ns, start_ns);
    if (from_ns >= std::max(time.from_ns, series.start_ns) && from_ns < end_ns) {
      uint64_t& recorded = series.recorded_ns[static_cast<size_t>((from_ns - series.start_ns) / series.cell_ns)];
      recorded = saturating_add(recorded, window.end_ns - window.start_ns);
    }
  }
}

// Returns when the selected recording ended, since its start. 0: unknown.
uint64_t end_of(const Aggregate& rows) {
  const auto time = described_time(rows);
  const auto start_ns = rows.info.start_ns();
  uint64_t end_ns = 0;
  for (const profile::Window& window : rows.windows) {
    end_ns = std::max(end_ns, window.end_ns);
  }
  return time && start_ns ? std::min(time->to_ns, end_ns - std::min(end_ns, *start_ns)) : 0;
}

void put_recorded(const Aggregate& rows, TimeSeries& series) {
  const auto time = described_time(rows);
  const auto start_ns = rows.info.start_ns();
  if (!time || !start_ns) {
    return;
  }
  series.recorded_ns.resize(series.cells.size());
  series.by_window_start = rows.info.is_estimate();
  if (series.by_window_start) {
    add_windows(rows, *time, *start_ns, series);
    return;
  }
  std::vector<profile::Window> windows = windows_in(rows.windows, *time, *start_ns);
  std::sort(windows.begin(), windows.end(), [](const auto& a, const auto& b) { return a.start_ns < b.start_ns; });
  uint64_t end = *start_ns;  // the end of the windows so far: those of a merged profile may overlap
  for (const profile::Window& window : windows) {
    if (window.end_ns > end) {
      add_recorded(std::max(window.start_ns, end) - *start_ns, window.end_ns - *start_ns, series);
      end = window.end_ns;
    }
  }
}

}  // namespace

Result<TimeSeries> time_series(const Aggregate& rows, Measure measure, size_t most_cells) {
  if (rows.grid.interval_ns == 0) {
    return Error{"cannot show the profile over time: the length of its time slices (META interval_ns) is missing",
                 "profiles made by `gpuprof record` contain it"};
  }
  const bool of_samples =
      measure == Measure::samples || (measure == Measure::gpu && rows.info.kind == ProfileKind::stall_samples);
  const bool of_events = measure == Measure::gpu && rows.has_timeline;
  const SliceSums& sums = of_samples ? rows.sample_slices : rows.slices;
  const std::vector<Weight> blocks = of_events ? rows.timeline.cells() : sums.blocks();
  TimeSeries series{.start_ns = rows.timeline.start_ns()};
  uint64_t block_ns = rows.timeline.cell_ns();
  if (!of_events && (__builtin_mul_overflow(sums.origin(), rows.grid.interval_ns, &series.start_ns) ||
                     __builtin_mul_overflow(sums.width(), rows.grid.interval_ns, &block_ns))) {
    return beyond_64_bits();
  }
  uint64_t count = blocks.size();
  if (const uint64_t end_ns = end_of(rows); count > 0 && end_ns > series.start_ns) {
    count = std::max(count, (end_ns - series.start_ns - 1) / block_ns + 1);
  }
  const uint64_t step = blocks_in_cell(count, most_cells);
  series.cells.resize(cells_for(count, step));
  if (__builtin_mul_overflow(step, block_ns, &series.cell_ns) || !fits(series)) {
    return beyond_64_bits();
  }
  for (size_t i = 0; i < blocks.size(); ++i) {
    series.cells[i / step] += blocks[i];
    series.total += blocks[i];
  }
  put_recorded(rows, series);
  return series;
}

}  // namespace gpuprof::analyze
