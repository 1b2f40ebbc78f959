#include "analyze/stalls/stall_slices.h"

#include <algorithm>
#include <cmath>

#include "base/hash.h"

namespace gpuprof::analyze {

StallSlices::Blocks* StallSlices::blocks_of(std::unordered_map<uint64_t, size_t>& positions, std::vector<Blocks>& all,
                                            uint64_t key) {
  const auto known = positions.find(key);
  if (known != positions.end()) {
    return &all[known->second];
  }
  if (all.size() >= kMostPairs) {
    return nullptr;
  }
  positions.emplace(key, all.size());
  return &all.emplace_back(Blocks{});
}

// Joins blocks in pairs, which doubles the length of a block, until one of the kBlocks blocks contains the slice.
void StallSlices::widen_blocks(uint64_t slice) {
  while ((slice - first_) / width_ >= kBlocks) {
    for (std::vector<Blocks>* all : {&of_kernels_, &of_pairs_}) {
      for (Blocks& blocks : *all) {
        for (size_t i = 0; i < kBlocks; ++i) {
          blocks[i] = i < kBlocks / 2 ? blocks[2 * i] + blocks[2 * i + 1] : 0;
        }
      }
    }
    width_ *= 2;
  }
}

void StallSlices::add(profile::StringId kernel, profile::StringId reason, uint64_t slice, uint64_t count) {
  if (!begun_) {
    begun_ = true;
    first_ = slice;
  }
  // The lines of a merged profile may be out of order, so the slice may be before the first one.
  slice = std::max(slice, first_);
  widen_blocks(slice);
  const size_t block = (slice - first_) / width_;
  Blocks* const pair = blocks_of(pairs_, of_pairs_, join_ids(index(kernel), index(reason)));
  Blocks* const all = pair == nullptr ? nullptr : blocks_of(kernels_, of_kernels_, index(kernel));
  if (all != nullptr) {
    (*pair)[block] += count;
    (*all)[block] += count;
  }
}

StallSpread StallSlices::spread(profile::StringId kernel, profile::StringId reason) const {
  StallSpread sums;
  const auto all = kernels_.find(index(kernel));
  if (all == kernels_.end()) {
    return sums;
  }
  const auto pair = pairs_.find(join_ids(index(kernel), index(reason)));
  for (size_t i = 0; i < kBlocks; ++i) {
    const auto whole = static_cast<double>(of_kernels_[all->second][i]);
    const auto part = pair == pairs_.end() ? 0 : static_cast<double>(of_pairs_[pair->second][i]);
    if (whole > 0) {
      sums += {.part = part, .whole = whole, .squares = part * part / whole, .blocks = 1};
    }
  }
  return sums;
}

StallSpread& StallSpread::operator+=(const StallSpread& other) {
  part += other.part;
  whole += other.whole;
  squares += other.squares;
  blocks += other.blocks;
  return *this;
}

double StallSpread::dispersion() const {
  if (part <= 0 || part >= whole || blocks < 2) {
    return 1;
  }
  // Pearson's chi-squared statistic, divided by its degrees of freedom.
  const double share = part / whole;
  return std::max(1.0, (squares - part * share) / (share * (1 - share)) / (blocks - 1));
}

Interval share_interval(uint64_t part, uint64_t whole, double dispersion) {
  constexpr double kNormal95 = 1.959964;
  const double n = static_cast<double>(whole) / dispersion;
  const double share = static_cast<double>(part) / static_cast<double>(whole);
  const double z2 = kNormal95 * kNormal95;
  const double middle = share + z2 / (2 * n);
  const double half = kNormal95 * std::sqrt(share * (1 - share) / n + z2 / (4 * n * n));
  return {std::clamp((middle - half) / (1 + z2 / n), 0.0, share),
          std::clamp((middle + half) / (1 + z2 / n), share, 1.0)};
}

}  // namespace gpuprof::analyze
