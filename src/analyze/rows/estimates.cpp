#include "analyze/rows/estimates.h"

#include <algorithm>
#include <cmath>

#include "analyze/rows/totals.h"
#include "base/student_t.h"

namespace gpuprof::analyze {
namespace {

constexpr double kAbove = 0.025;  // probability beyond each end of the interval
constexpr int kUsual = 20;        // the interval of work in so many blocks is right, however few of all blocks they are

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
    for (size_t row = 0; row < blocks_.size() / kBlocks; ++row) {
      join_pairs(blocks_of(row));
    }
  }
  return slice / width_;
}

void Estimates::add_work(size_t row, uint64_t slice, uint64_t ns) {
  if (blocks_.size() < (row + 1) * kBlocks) {
    blocks_.resize((row + 1) * kBlocks);
  }
  const size_t block = block_of(slice);
  blocks_of(row)[block] += static_cast<float>(ns);
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

void Estimates::finish(std::span<const Known> rows, const LaunchScale& scale) {
  blocks_.resize(rows.size() * kBlocks);
  for (auto& [process, launches] : launches_) {
    for (size_t i = 0; i < kBlocks; ++i) {
      launches.sum += launches.blocks[i];
      launches.active |= uint64_t{launches.blocks[i] > 0} << i;
    }
  }
  const std::vector<double> shares = uncounted_shares();
  for (size_t row = 0; row < rows.size(); ++row) {
    const std::span<float> blocks = blocks_of(row);
    double sum = 0;
    uint64_t seen = 0;
    for (size_t i = 0; i < kBlocks; ++i) {
      sum += blocks[i];
      seen |= uint64_t{blocks[i] > 0} << i;
    }
    constexpr double kRounding = 1e-3;
    const auto known = static_cast<double>(rows[row].ns);
    if (std::abs(sum - known) > kRounding * known) {
      seen_.clear();
      return;
    }
    seen_.push_back(seen);
    const Launches& launches = launches_[rows[row].process];
    active_.push_back(launches.active);
    const auto count = static_cast<double>(std::popcount(launches.active));
    // One block tells nothing about the differences between blocks. Then all of its time counts as uncertain.
    const double ratio = count > 1 ? sum / launches.sum : 0;
    const double spread = count == 0 ? 0 : count > 1 ? std::sqrt(count / (count - 1)) : 1;  // 0: the row is exact
    const double factor = scale.of(rows[row].process) * spread;
    for (size_t i = 0; i < kBlocks; ++i) {
      blocks[i] = static_cast<float>((blocks[i] - ratio * launches.blocks[i]) * factor * std::sqrt(shares[i]));
    }
  }
}

void Uncertainty::add(const Estimates& estimates, size_t row) {
  if (row >= estimates.seen_.size()) {
    return;  // the rows are exact, or their margins are unknown
  }
  residuals_.resize(Estimates::kBlocks);
  for (size_t i = 0; i < Estimates::kBlocks; ++i) {
    residuals_[i] += estimates.blocks_[row * Estimates::kBlocks + i];
  }
  seen_ |= estimates.seen_[row];
  active_ |= estimates.active_[row];
}

std::optional<Margin> Uncertainty::margin() const {
  const int blocks = std::popcount(active_);
  if (blocks < 2) {
    return std::nullopt;
  }
  double squares = 0;
  for (const double residual : residuals_) {
    squares += residual * residual;
  }
  const double ns = std::sqrt(squares) * student_t_quantile(kAbove, blocks - 1);
  constexpr double kMost = 9e18;
  const int seen = std::popcount(seen_);
  return Margin{.ns = static_cast<uint64_t>(std::llround(std::min(ns, kMost))),
                .is_rare = seen < kUsual && 2 * seen < blocks};
}

}  // namespace gpuprof::analyze
