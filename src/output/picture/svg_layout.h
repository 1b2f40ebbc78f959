// The frames of a flame graph in drawing order: depth first, siblings by name, with the weight of their subtrees.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "analyze/paths/flame_tree.h"
#include "output/weight.h"

namespace gpuprof::output {

struct LaidFrame {
  analyze::LabelId label{};  // of all but the root, which has none
  uint32_t depth = 0;        // 0 is the root
  analyze::Weight weight;    // of the subtree; sums that would overflow stay at the maximum
  uint64_t start = 0;        // left edge, in units of the chosen weight
  uint64_t width = 0;        // the chosen weight
  bool cut = false;          // a part of what lies above it was left out
};

struct FlameLayout {
  std::vector<LaidFrame> frames;  // frames[0] is the root; never empty
  size_t left_out = 0;            // frames with a weight that a limit dropped
};

// Keeps the `max_frames` heaviest frames (a frame's parents are at least as heavy, so they stay) of up to `max_depth`
// levels above the root.
FlameLayout lay_out(const analyze::FlameTree& tree, WeightKind kind, size_t max_frames, size_t max_depth);

}  // namespace gpuprof::output
