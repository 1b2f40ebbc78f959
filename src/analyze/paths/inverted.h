// Inverts a flame tree: paths start with their innermost frame, followed by its callers.
#pragma once

#include <cstddef>
#include <cstdint>

#include "analyze/paths/flame_tree.h"

namespace gpuprof::analyze {

// Bounds time and memory. A hostile profile may have a million paths of 65536 frames without common innermost frames.
struct InvertedLimits {
  size_t depth = 1'000;         // maximum frames per path, counted from the innermost
  uint64_t steps = 20'000'000;  // once this many frames were added, further paths keep only `short_depth` frames
  size_t short_depth = 16;
};

struct Inverted {
  FlameTree tree;          // has the same total as the original
  uint64_t cut_paths = 0;  // number of paths that lost their outermost frames, because of the limits
};

Inverted inverted(const FlameTree& tree, const InvertedLimits& limits = {});

}  // namespace gpuprof::analyze
