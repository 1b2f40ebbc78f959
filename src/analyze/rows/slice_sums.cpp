#include "analyze/rows/slice_sums.h"

namespace gpuprof::analyze {

// Returns the slice's block. Joins blocks in pairs until kBlocks blocks include the slice.
Weight& SliceSums::block_of(uint64_t slice) {
  while ((slice - origin_) / width_ >= kBlocks) {
    const size_t joined = (blocks_.size() + 1) / 2;
    for (size_t i = 0; i < joined; ++i) {
      Weight sum = blocks_[2 * i];
      if (2 * i + 1 < blocks_.size()) {
        sum += blocks_[2 * i + 1];
      }
      blocks_[i] = sum;
    }
    blocks_.resize(joined);
    width_ *= 2;
  }
  const auto block = static_cast<size_t>((slice - origin_) / width_);
  if (block >= blocks_.size()) {
    blocks_.resize(block + 1);
  }
  return blocks_[block];
}

}  // namespace gpuprof::analyze
