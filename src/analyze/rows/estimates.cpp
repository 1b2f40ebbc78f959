#include "analyze/rows/estimates.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <numeric>

#include "analyze/rows/totals.h"
#include "base/student_t.h"

namespace gpuprof::analyze {
namespace {

constexpr double kAbove = 0.025;  // probability beyond each end of the interval
// A process launches nothing, or up to twice as much as expected, at its end. When it stopped is not known exactly.
constexpr double kExtrapolationError = 1;
constexpr int kUsual = 20;           // the interval of work in fewer blocks may be wrong
constexpr double kLeastFreedom = 2;  // with less, 95% intervals are more than four standard errors wide

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

// Returns for each block which share of the launches that it stands for was not recorded. Only this share is uncertain.
// A window of weight 1 stands for more than itself if `scale` is above 1: then the weights represent too few launches.
std::array<double, Estimates::kBlocks> Estimates::uncounted_shares(double scale) const {
  std::array<double, kBlocks> shares = {};
  for (size_t i = 0; i < kBlocks; ++i) {
    shares[i] = windows_[i] > 0 ? 1 - recorded_[i] / windows_[i] / std::max(scale, 1.0) : 1;
  }
  return shares;
}

double Estimates::subtract_launches(std::span<float> blocks, const Launches& launches, double scale,
                                    std::span<const double> shares) {
  const double sum = std::accumulate(blocks.begin(), blocks.end(), 0.0);
  for (size_t i = 0; i < kBlocks; ++i) {
    const double others = 1 - launches.share(i);
    // One block tells nothing about the differences between blocks. Then all of its work counts as uncertain.
    const double residual = others > 0 ? (blocks[i] - sum * launches.share(i)) / others : blocks[i];
    blocks[i] = static_cast<float>(residual * scale * std::sqrt(shares[i]));
  }
  return sum;
}

void Estimates::finish(std::span<const Known> rows, const LaunchScale& scale) {
  blocks_.resize(2 * rows.size() * kBlocks);
  for (auto& [process, launches] : launches_) {
    const std::array<double, kBlocks> shares = uncounted_shares(scale.of(process));
    launches.sum = std::accumulate(launches.blocks.begin(), launches.blocks.end(), 0.0);
    for (size_t i = 0; launches.sum > 0 && i < kBlocks; ++i) {
      expected_[process].push_back(launches.share(i) * std::sqrt(shares[i]));
    }
  }
  for (size_t row = 0; row < rows.size(); ++row) {
    const std::span<float> counts = blocks_of(row, 1);
    uint64_t seen = 0;
    for (size_t i = 0; i < kBlocks; ++i) {
      seen |= uint64_t{counts[i] > 0} << i;
    }
    const Known& known = rows[row];
    const Launches& launches = launches_[known.process];
    const double factor = scale.of(known.process);
    const std::array<double, kBlocks> shares = uncounted_shares(factor);
    const double ns = subtract_launches(blocks_of(row, 0), launches, factor, shares);
    const double count = subtract_launches(counts, launches, factor, shares);
    if (!is_close(ns, known.ns) || !is_close(count, known.count)) {
      seen_.clear();
      return;
    }
    seen_.push_back(seen);
    processes_.push_back(known.process);
    sums_.push_back({factor * static_cast<double>(known.ns), factor * static_cast<double>(known.count)});
    const double extrapolated = kExtrapolationError * scale.extrapolated(known.process);
    extrapolated_.push_back({extrapolated * sums_.back()[0], extrapolated * sums_.back()[1]});
  }
}

void Uncertainty::add(const Estimates& estimates, size_t row) {
  if (row >= estimates.seen_.size()) {
    return;  // the rows are exact, or their margins are unknown
  }
  const auto expected = estimates.expected_.find(estimates.processes_[row]);
  if (expected == estimates.expected_.end()) {
    return;  // the row is exact
  }
  constexpr size_t kBlocks = Estimates::kBlocks;
  residuals_.resize(2 * kBlocks);
  expected_.resize(2 * kBlocks);
  for (size_t i = 0; i < residuals_.size(); ++i) {
    residuals_[i] += estimates.blocks_[row * residuals_.size() + i];
    expected_[i] += expected->second[i % kBlocks] * estimates.sums_[row][i / kBlocks];
  }
  for (size_t measure = 0; measure < extrapolated_.size(); ++measure) {
    extrapolated_[measure] += estimates.extrapolated_[row][measure];
  }
  seen_ |= estimates.seen_[row];
}

Uncertainty& Uncertainty::operator+=(const Uncertainty& other) {
  residuals_.resize(std::max(residuals_.size(), other.residuals_.size()));
  expected_.resize(residuals_.size());
  for (size_t i = 0; i < other.residuals_.size(); ++i) {
    residuals_[i] += other.residuals_[i];
    expected_[i] += other.expected_[i];
  }
  for (size_t measure = 0; measure < extrapolated_.size(); ++measure) {
    extrapolated_[measure] += other.extrapolated_[measure];
  }
  seen_ |= other.seen_;
  return *this;
}

// Returns infinity if nothing is uncertain.
double Uncertainty::freedom(size_t measure) const {
  double sum = 0;
  double squares = 0;
  for (size_t i = 0; i < Estimates::kBlocks; ++i) {
    const double expected = expected_[measure * Estimates::kBlocks + i];
    const double variance = expected * expected;
    sum += variance;
    squares += variance * variance;
  }
  return squares == 0 ? std::numeric_limits<double>::infinity() : sum * sum / squares - 1;
}

uint64_t Uncertainty::half_width(size_t measure) const {
  double squares = 0;
  for (size_t i = 0; i < Estimates::kBlocks; ++i) {
    const double residual = residuals_[measure * Estimates::kBlocks + i];
    squares += residual * residual;
  }
  constexpr double kMost = 9e18;
  const double t = student_t_quantile(kAbove, std::max(freedom(measure), 1.0));
  return static_cast<uint64_t>(
      std::llround(std::min(std::hypot(std::sqrt(squares) * t, extrapolated_[measure]), kMost)));
}

std::optional<Margin> Uncertainty::margin() const {
  if (residuals_.empty()) {
    return std::nullopt;
  }
  const bool is_known = freedom(1) >= kLeastFreedom;
  const bool is_usual = std::isinf(freedom(1)) || std::popcount(seen_) >= kUsual;
  return Margin{.ns = half_width(0), .count = half_width(1), .is_rare = !is_known || !is_usual, .is_known = is_known};
}

}  // namespace gpuprof::analyze
