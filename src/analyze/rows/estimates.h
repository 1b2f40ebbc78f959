// Computes how exact the GPU times and counts of a recording with --max-overhead are. Such a recording knows random
// windows only. A sum of it is a ratio estimate: the GPU time per launch in the windows, times all launches of the
// process. Its variance follows from blocks of time (Cochran, Sampling Techniques, 3rd edition, section 6.4): the
// residual of a block is its GPU time, less the time that its launches would have taken at the mean ratio. If some of
// the launches are extrapolated, their number is uncertain, too.
//
// Windows have different weights, so one block may hold most of the launches. It then pulls the ratio towards itself,
// and its residual is too small. Hence a residual is divided by the share of the launches that the other blocks hold.
// The degrees of freedom are those of Satterthwaite, if the error of a block is in proportion to its launches.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <vector>

#include "profile/records.h"

namespace gpuprof::analyze {

class LaunchScale;

class Estimates {
 public:
  // A block is one slice, or as many slices as are necessary for at most this many blocks.
  static constexpr size_t kBlocks = 64;

  // `row` is an index into Aggregate::rows.
  void add_work(size_t row, uint64_t slice, uint64_t ns, uint64_t count);
  void add(const profile::Weighted& line);
  // A window with this weight began in the slice.
  void add_window(uint64_t slice, uint64_t weight);

  struct Known {
    profile::ProcessId process{};
    uint64_t ns = 0;  // sums of the row, before scaling
    uint64_t count = 0;
  };
  // Call it once, after all lines. Element i of `rows` describes row i. Finds no margins if the sums of add_work()
  // differ from `rows`, because the times of some lines are unknown then.
  void finish(std::span<const Known> rows, const LaunchScale& scale);

 private:
  friend class Uncertainty;
  struct Launches {
    std::vector<double> blocks = std::vector<double>(kBlocks);
    double sum = 0;

    [[nodiscard]] double share(size_t block) const { return sum > 0 ? blocks[block] / sum : 0; }
  };

  size_t block_of(uint64_t slice);
  [[nodiscard]] std::array<double, kBlocks> uncounted_shares(double scale) const;
  // Replaces the sums of a row in each block by residuals. Returns the sum of all blocks.
  static double subtract_launches(std::span<float> blocks, const Launches& launches, double scale,
                                  std::span<const double> shares);
  // `measure` 0 is the GPU time, 1 the count.
  [[nodiscard]] std::span<float> blocks_of(size_t row, size_t measure) {
    return {&blocks_[(2 * row + measure) * kBlocks], kBlocks};
  }

  uint64_t width_ = 1;         // slices per block
  std::vector<float> blocks_;  // GPU time and count of each row in each block; after finish(): residuals
  std::map<profile::ProcessId, Launches> launches_;
  std::vector<double> windows_ = std::vector<double>(kBlocks);   // number of windows that began in each block
  std::vector<double> recorded_ = std::vector<double>(kBlocks);  // sums of 1 / weight of these windows
  // The expected error of each block, in proportion to the sum of a row. Only of processes whose rows are estimates.
  std::map<profile::ProcessId, std::vector<double>> expected_;
  // The next lists have one element per row.
  std::vector<uint64_t> seen_;  // bit i: the work ran in block i
  std::vector<profile::ProcessId> processes_;
  std::vector<std::array<double, 2>> sums_;          // both measures, scaled
  std::vector<std::array<double, 2>> extrapolated_;  // possible error by LaunchScale::extrapolated() of both measures
};

// Half the widths of 95% intervals.
struct Margin {
  uint64_t ns = 0;
  uint64_t count = 0;
  bool is_rare = false;   // the interval may be wrong, because few windows have this work
  bool is_known = false;  // false: there are too few windows for an interval; then is_rare is true
};

// The uncertainty of a sum of rows.
class Uncertainty {
 public:
  void add(const Estimates& estimates, size_t row);
  Uncertainty& operator+=(const Uncertainty& other);
  // Returns nullopt if the sum is not an estimate, or if the profile does not tell the times of its work.
  [[nodiscard]] std::optional<Margin> margin() const;

 private:
  [[nodiscard]] double freedom(size_t measure) const;
  [[nodiscard]] uint64_t half_width(size_t measure) const;

  std::vector<double> residuals_;  // of each measure and block
  std::vector<double> expected_;   // their expected sizes, in proportion
  std::array<double, 2> extrapolated_ = {};
  uint64_t seen_ = 0;  // bit i: the work ran in block i
};

}  // namespace gpuprof::analyze
