// Arranges the frames of a flame graph in drawing order: depth first, siblings by name, with subtree weights.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "analyze/paths/flame_tree.h"
#include "output/weight.h"

namespace gpuprof::output {

struct LaidFrame {
  analyze::LabelId label{};  // not set for the root
  uint32_t depth = 0;
  analyze::Weight weight;  // weight of the subtree; its sums saturate
  uint64_t start = 0;      // left edge, in units of the chosen weight
  uint64_t width = 0;      // the chosen weight of the subtree
  bool cut = false;        // true: some of the frames above it were left out
};

struct FlameLayout {
  std::vector<LaidFrame> frames;  // frames[0] is the root, so the list is never empty
  size_t left_out = 0;            // number of frames that a limit left out; frames of weight 0 do not count
};

// Keeps the `max_frames` heaviest frames, up to `max_depth` levels. The parent of a kept frame is kept too, because it
// is never lighter.
FlameLayout lay_out(const analyze::FlameTree& tree, WeightKind kind, size_t max_frames, size_t max_depth);

}  // namespace gpuprof::output
