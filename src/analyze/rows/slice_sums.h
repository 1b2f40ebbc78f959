// Sums weights over time in bounded memory: one block per slice, or per several slices of a long recording.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <vector>

#include "analyze/paths/flame_tree.h"
#include "analyze/rows/time_window.h"
#include "profile/records.h"
#include "profile/slice_grid.h"

namespace gpuprof::analyze {

class SliceSums {
 public:
  // Maximum number of blocks of all processes together. Enough for one block per second for 18 hours.
  static constexpr size_t kBlocks = 65536;

  // `origin` is the first slice. Earlier slices must not be added.
  explicit SliceSums(uint64_t origin = 0) : origin_(origin) {}

  // Without a grid, all slices have equal lengths. With it, blocks consist of complete long slices once one is added.
  void set_grid(const profile::SliceGrid& grid) { grid_ = grid; }

  // Adds a weight. The caller must ensure that the sum of all weights fits 64 bits. `process` is only for scale(). Use
  // process 0 for weights that must not be scaled: more processes have longer blocks.
  void add(profile::ProcessId process, uint64_t slice, const Weight& weight) {
    if (slice != last_slice_ || process != last_process_ || last_ == nullptr) {
      last_ = &block_of(process, slice);
      last_slice_ = slice;
      last_process_ = process;
    }
    *last_ += weight;
  }

  // Multiplies the weights of each process, except those of process 0, by its factor. The rounding errors of its blocks
  // do not add up.
  void scale(const std::function<double(profile::ProcessId)>& factor_of);

  [[nodiscard]] uint64_t origin() const { return origin_; }
  [[nodiscard]] uint64_t width() const { return width_; }  // slices per block
  [[nodiscard]] std::vector<Weight> blocks() const;        // of all processes, without empty blocks at the end

 private:
  void join_blocks();
  Weight& block_of(profile::ProcessId process, uint64_t slice);

  profile::SliceGrid grid_;
  uint64_t origin_ = 0;
  uint64_t width_ = 1;
  size_t longest_ = 0;  // number of blocks of the process with the most blocks
  std::map<profile::ProcessId, std::vector<Weight>> processes_;
  uint64_t last_slice_ = 0;
  profile::ProcessId last_process_{};
  Weight* last_ = nullptr;
};

// Sums GPU work over time from the events of a profile with --timeline: in each cell, the time for which work ran, and
// the work that ended in it.
class TimelineSums {
 public:
  // Maximum number of cells. A cell is 1 us, or as many powers of 10 longer as is necessary.
  static constexpr size_t kCells = 65'536;
  static constexpr uint64_t kShortestNs = 1000;

  // Only time in this window counts.
  void set_window(const TimeWindow& window) { window_ = window; }
  // Adds a work item that ran from `start_ns` to `end_ns` since the start of the recording. Ignores it if the sum of
  // all items does not fit 64 bits.
  void add(uint64_t start_ns, uint64_t end_ns, uint64_t bytes);

  // The sum of all work items, in whatever window.
  [[nodiscard]] const Weight& total() const { return total_; }
  [[nodiscard]] uint64_t start_ns() const { return window_.from_ns; }
  [[nodiscard]] uint64_t cell_ns() const { return cell_ns_; }
  // The cells from the start of the window to the last work.
  [[nodiscard]] std::vector<Weight> cells() const;

 private:
  // The times are those of the work items that begin or end in the cell. `begun`: how many items more than in the cell
  // before run in all of its time, modulo 2^64.
  struct Cell {
    Weight weight;
    uint64_t begun = 0;
  };
  void join_cells();

  std::vector<Cell> cells_;
  uint64_t cell_ns_ = kShortestNs;
  TimeWindow window_;
  Weight total_;
};

}  // namespace gpuprof::analyze
