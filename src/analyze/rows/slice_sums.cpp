#include "analyze/rows/slice_sums.h"

#include <algorithm>

#include "analyze/rows/totals.h"

namespace gpuprof::analyze {

void SliceSums::join_pairs() {
  for (auto& [process, blocks] : processes_) {
    const size_t joined = (blocks.size() + 1) / 2;
    for (size_t i = 0; i < joined; ++i) {
      Weight sum = blocks[2 * i];
      if (2 * i + 1 < blocks.size()) {
        sum += blocks[2 * i + 1];
      }
      blocks[i] = sum;
    }
    blocks.resize(joined);
  }
  longest_ = (longest_ + 1) / 2;
  width_ *= 2;
}

// Returns the slice's block. Joins blocks in pairs until kBlocks blocks include the slices of all processes.
Weight& SliceSums::block_of(profile::ProcessId process, uint64_t slice) {
  std::vector<Weight>& blocks = processes_[process];
  constexpr size_t kLeast = 2;  // limits width_ to 2^63
  const size_t most = std::max(kLeast, kBlocks / processes_.size());
  while (longest_ > most || (slice - origin_) / width_ >= most) {
    join_pairs();
  }
  const auto block = static_cast<size_t>((slice - origin_) / width_);
  if (block >= blocks.size()) {
    blocks.resize(block + 1);
  }
  longest_ = std::max(longest_, blocks.size());
  return blocks[block];
}

void SliceSums::scale(const std::function<double(profile::ProcessId)>& factor_of) {
  for (auto& [process, blocks] : processes_) {
    const double factor = index(process) == 0 ? 1 : factor_of(process);
    ScaledParts parts;
    for (Weight& block : blocks) {
      block = parts.next(block, factor);
    }
  }
}

std::vector<Weight> SliceSums::blocks() const {
  std::vector<Weight> sums(longest_);
  for (const auto& [process, blocks] : processes_) {
    for (size_t i = 0; i < blocks.size(); ++i) {
      sums[i] += blocks[i];
    }
  }
  return sums;
}

}  // namespace gpuprof::analyze
