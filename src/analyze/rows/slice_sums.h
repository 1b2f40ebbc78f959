// Sums weights over time in bounded memory: one block per slice, or per several slices of a long recording.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <vector>

#include "analyze/paths/flame_tree.h"
#include "profile/records.h"

namespace gpuprof::analyze {

class SliceSums {
 public:
  // Maximum number of blocks of all processes together. Enough for one block per second for 18 hours.
  static constexpr size_t kBlocks = 65536;

  // `origin` is the first slice. Earlier slices must not be added.
  explicit SliceSums(uint64_t origin = 0) : origin_(origin) {}

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
  void join_pairs();
  Weight& block_of(profile::ProcessId process, uint64_t slice);

  uint64_t origin_;
  uint64_t width_ = 1;
  size_t longest_ = 0;  // number of blocks of the process with the most blocks
  std::map<profile::ProcessId, std::vector<Weight>> processes_;
  uint64_t last_slice_ = 0;
  profile::ProcessId last_process_{};
  Weight* last_ = nullptr;
};

}  // namespace gpuprof::analyze
