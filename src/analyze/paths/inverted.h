// Inverts a flame tree: paths start with their innermost frame, followed by its callers.
#pragma once

#include <cstddef>
#include <cstdint>

#include "analyze/paths/flame_tree.h"

namespace gpuprof::analyze {

// Bounds time and memory. A hostile profile may have a million paths of 65536 frames without common innermost frames.
struct InvertedLimits {
  size_t depth = 1'000;         // maximum number of frames of a path; the innermost frames are kept
  uint64_t steps = 20'000'000;  // after this many frames were added, each further path keeps only `short_depth` frames
  size_t short_depth = 16;
};

struct Inverted {
  FlameTree tree;
  uint64_t cut_paths = 0;  // number of paths whose outermost frames were cut off because of the limits
};

Inverted inverted(const FlameTree& tree, const InvertedLimits& limits = {});

}  // namespace gpuprof::analyze
