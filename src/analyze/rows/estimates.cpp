#include "analyze/rows/estimates.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <numeric>

#include "analyze/rows/totals.h"
#include "base/student_t.h"

namespace gpuprof::analyze {
namespace {

constexpr double kAbove = 0.025;  // probability beyond each end of the interval
// A process launches nothing, or up to twice as much as expected, at its end. When it stopped is not known exactly.
constexpr double kExtrapolationError = 1;
constexpr int kUsual = 20;  // the interval of work in so many blocks is right, however few of all blocks they are

// A float has 24 bits.
bool is_close(double sum, uint64_t known) {
  constexpr double kRounding = 1e-3;
  return std::abs(sum - static_cast<double>(known)) <= kRounding * static_cast<double>(known);
}

// Joins neighbouring blocks, so that each block covers twice as many slices.
template <typename Blocks>
void join_pairs(Blocks&& blocks) {
  for (size_t i = 0; i < Estimates::kBlocks; ++i) {
    blocks[i] = i < Estimates::kBlocks / 2 ? blocks[2 * i] + blocks[2 * i + 1] : 0;
  }
}

}  // namespace

size_t Estimates::block_of(uint64_t slice) {
  while (slice / width_ >= kBlocks) {
    width_ *= 2;
    join_pairs(windows_);
    join_pairs(recorded_);
    for (auto& [process, launches] : launches_) {
      join_pairs(launches.blocks);
    }
    for (size_t row = 0; row < blocks_.size() / (2 * kBlocks); ++row) {
      join_pairs(blocks_of(row, 0));
      join_pairs(blocks_of(row, 1));
    }
  }
  return slice / width_;
}

void Estimates::add_work(size_t row, uint64_t slice, uint64_t ns, uint64_t count) {
  if (blocks_.size() < 2 * (row + 1) * kBlocks) {
    blocks_.resize(2 * (row + 1) * kBlocks);
  }
  const size_t block = block_of(slice);
  blocks_of(row, 0)[block] += static_cast<float>(ns);
  blocks_of(row, 1)[block] += static_cast<float>(count);
}

void Estimates::add(const profile::Weighted& line) {
  const size_t block = block_of(line.slice);
  launches_[line.process].blocks[block] += static_cast<double>(line.count);
}

void Estimates::add_window(uint64_t slice, uint64_t weight) {
  const size_t block = block_of(slice);
  windows_[block] += 1;
  recorded_[block] += 1 / static_cast<double>(std::max(weight, uint64_t{1}));
}

// Returns for each block which share of its time was not recorded. Only this share is uncertain.
std::vector<double> Estimates::uncounted_shares() const {
  std::vector<double> shares(kBlocks, 1);
  for (size_t i = 0; i < kBlocks; ++i) {
    shares[i] = windows_[i] > 0 ? 1 - recorded_[i] / windows_[i] : 1;
  }
  return shares;
}

double Estimates::subtract_launches(std::span<float> blocks, const Launches& launches, double scale,
                                    std::span<const double> shares) {
  const double sum = std::accumulate(blocks.begin(), blocks.end(), 0.0);
  const auto count = static_cast<double>(std::popcount(launches.active));
  // One block tells nothing about the differences between blocks. Then all of its work counts as uncertain.
  const double ratio = count > 1 ? sum / launches.sum : 0;
  const double spread = count == 0 ? 0 : count > 1 ? std::sqrt(count / (count - 1)) : 1;  // 0: the row is exact
  for (size_t i = 0; i < kBlocks; ++i) {
    const double residual = (blocks[i] - ratio * launches.blocks[i]) * scale * spread;
    blocks[i] = static_cast<float>(residual * std::sqrt(shares[i]));
  }
  return sum;
}

void Estimates::finish(std::span<const Known> rows, const LaunchScale& scale) {
  blocks_.resize(2 * rows.size() * kBlocks);
  for (auto& [process, launches] : launches_) {
    for (size_t i = 0; i < kBlocks; ++i) {
      launches.sum += launches.blocks[i];
      launches.active |= uint64_t{launches.blocks[i] > 0} << i;
    }
  }
  const std::vector<double> shares = uncounted_shares();
  for (size_t row = 0; row < rows.size(); ++row) {
    const std::span<float> counts = blocks_of(row, 1);
    uint64_t seen = 0;
    for (size_t i = 0; i < kBlocks; ++i) {
      seen |= uint64_t{counts[i] > 0} << i;
    }
    const Known& known = rows[row];
    const Launches& launches = launches_[known.process];
    const double factor = scale.of(known.process);
    const double ns = subtract_launches(blocks_of(row, 0), launches, factor, shares);
    const double count = subtract_launches(counts, launches, factor, shares);
    if (!is_close(ns, known.ns) || !is_close(count, known.count)) {
      seen_.clear();
      return;
    }
    seen_.push_back(seen);
    active_.push_back(launches.active);
    const double extrapolated = kExtrapolationError * scale.extrapolated(known.process) * factor;
    extrapolated_.push_back(
        {extrapolated * static_cast<double>(known.ns), extrapolated * static_cast<double>(known.count)});
  }
}

void Uncertainty::add(const Estimates& estimates, size_t row) {
  if (row >= estimates.seen_.size()) {
    return;  // the rows are exact, or their margins are unknown
  }
  residuals_.resize(2 * Estimates::kBlocks);
  for (size_t i = 0; i < residuals_.size(); ++i) {
    residuals_[i] += estimates.blocks_[row * residuals_.size() + i];
  }
  for (size_t measure = 0; measure < extrapolated_.size(); ++measure) {
    extrapolated_[measure] += estimates.extrapolated_[row][measure];
  }
  seen_ |= estimates.seen_[row];
  active_ |= estimates.active_[row];
}

Uncertainty& Uncertainty::operator+=(const Uncertainty& other) {
  residuals_.resize(std::max(residuals_.size(), other.residuals_.size()));
  for (size_t i = 0; i < other.residuals_.size(); ++i) {
    residuals_[i] += other.residuals_[i];
  }
  for (size_t measure = 0; measure < extrapolated_.size(); ++measure) {
    extrapolated_[measure] += other.extrapolated_[measure];
  }
  seen_ |= other.seen_;
  active_ |= other.active_;
  return *this;
}

uint64_t Uncertainty::half_width(size_t measure) const {
  double squares = 0;
  for (size_t i = 0; i < Estimates::kBlocks; ++i) {
    const double residual = residuals_[measure * Estimates::kBlocks + i];
    squares += residual * residual;
  }
  constexpr double kMost = 9e18;
  const double t = student_t_quantile(kAbove, std::popcount(active_) - 1);
  return static_cast<uint64_t>(
      std::llround(std::min(std::hypot(std::sqrt(squares) * t, extrapolated_[measure]), kMost)));
}

std::optional<Margin> Uncertainty::margin() const {
  const int blocks = std::popcount(active_);
  if (blocks < 2) {
    return std::nullopt;
  }
  const int seen = std::popcount(seen_);
  return Margin{.ns = half_width(0), .count = half_width(1), .is_rare = seen < kUsual && 2 * seen < blocks};
}

}  // namespace gpuprof::analyze
