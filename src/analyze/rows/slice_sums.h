// Sums weights over time in bounded memory: one block per slice, or per several slices of a long recording.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "analyze/paths/flame_tree.h"

namespace gpuprof::analyze {

class SliceSums {
 public:
  // Enough for one block per second for 18 hours.
  static constexpr size_t kBlocks = 65536;

  // `origin` is the first slice. Earlier slices must not be added.
  explicit SliceSums(uint64_t origin = 0) : origin_(origin) {}

  // Adds a weight. The caller must ensure that the sum of all weights fits 64 bits.
  void add(uint64_t slice, const Weight& weight) {
    if (slice != last_slice_ || last_ == nullptr) {
      last_ = &block_of(slice);
      last_slice_ = slice;
    }
    *last_ += weight;
  }

  [[nodiscard]] uint64_t origin() const { return origin_; }
  [[nodiscard]] uint64_t width() const { return width_; }                      // slices per block
  [[nodiscard]] const std::vector<Weight>& blocks() const { return blocks_; }  // empty blocks at the end are omitted

 private:
  Weight& block_of(uint64_t slice);

  uint64_t origin_;
  uint64_t width_ = 1;
  std::vector<Weight> blocks_;
  uint64_t last_slice_ = 0;
  Weight* last_ = nullptr;
};

}  // namespace gpuprof::analyze
