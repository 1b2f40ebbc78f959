// A flame tree read from its leaves: what ends a path comes first, then its callers.
#pragma once

#include <cstddef>
#include <cstdint>

#include "analyze/paths/flame_tree.h"

namespace gpuprof::analyze {

// What bounds the work: a hostile profile may have a million paths of 65536 frames, of which none begins like another
// when it is read from its end.
struct InvertedLimits {
  size_t depth = 1'000;         // frames of a path, from its leaf
  uint64_t steps = 20'000'000;  // frames of all paths together; later ones keep only their last `short_depth`
  size_t short_depth = 16;
};

struct Inverted {
  FlameTree tree;          // with the same total
  uint64_t cut_paths = 0;  // that end before their root
};

Inverted inverted(const FlameTree& tree, const InvertedLimits& limits = {});

}  // namespace gpuprof::analyze
