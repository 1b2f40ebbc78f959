// What a profile holds over time: sums for each slice, or for as many slices together as bounded memory asks for.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "analyze/paths/flame_tree.h"

namespace gpuprof::analyze {

class SliceSums {
 public:
  // A recording of 18 hours in slices of a second has a block for each of them.
  static constexpr size_t kBlocks = 65536;

  // The first block begins with the slice `origin`. No earlier one is added.
  explicit SliceSums(uint64_t origin = 0) : origin_(origin) {}

  // The sum of all weights has to fit.
  void add(uint64_t slice, const Weight& weight) {
    if (slice != last_slice_ || last_ == nullptr) {
      last_ = &block_of(slice);
      last_slice_ = slice;
    }
    *last_ += weight;
  }

  [[nodiscard]] uint64_t origin() const { return origin_; }
  [[nodiscard]] uint64_t width() const { return width_; }                      // slices in a block
  [[nodiscard]] const std::vector<Weight>& blocks() const { return blocks_; }  // up to the last one that has something

 private:
  Weight& block_of(uint64_t slice);

  uint64_t origin_;
  uint64_t width_ = 1;
  std::vector<Weight> blocks_;
  uint64_t last_slice_ = 0;
  Weight* last_ = nullptr;  // the block of last_slice_
};

}  // namespace gpuprof::analyze
