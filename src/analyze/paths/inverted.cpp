#include "analyze/paths/inverted.h"

#include <algorithm>
#include <iterator>
#include <span>
#include <vector>

namespace gpuprof::analyze {

Inverted inverted(const FlameTree& tree, const InvertedLimits& limits) {
  Inverted result;
  std::vector<LabelId> labels;  // indexed by label of the old tree
  labels.reserve(tree.label_count());
  for (uint32_t i = 0; i < tree.label_count(); ++i) {
    const LabelId id{i};
    labels.push_back(result.tree.label(result.tree.intern(tree.name(id)), tree.label(id).cls));
  }
  uint64_t steps = 0;
  std::vector<LabelId> path;  // innermost frame first
  for (const FlameTree::Node& leaf : tree.nodes()) {
    const Weight& own = tree.self(leaf);
    if (own.ns == 0 && own.count == 0 && own.bytes == 0) {
      continue;
    }
    const size_t most = steps < limits.steps ? limits.depth : std::min(limits.depth, limits.short_depth);
    const FlameTree::Node* node = &leaf;
    bool whole = false;
    path.clear();
    while (path.size() < most && !whole) {
      const std::span<const LabelId> frames = tree.frames(*node);
      const size_t taken = std::min(frames.size(), most - path.size());
      std::transform(frames.rbegin(), frames.rbegin() + static_cast<std::ptrdiff_t>(taken), std::back_inserter(path),
                     [&](LabelId frame) { return labels[static_cast<uint32_t>(frame)]; });
      whole = taken == frames.size() && node->parent == FlameTree::kRoot;
      node = &tree.nodes()[node->parent];
    }
    steps += path.size();
    result.cut_paths += whole || &leaf == &tree.nodes()[FlameTree::kRoot] ? 0 : 1;
    result.tree.add(result.tree.descend(FlameTree::kRoot, result.tree.keep(path)), own);
  }
  return result;
}

}  // namespace gpuprof::analyze
