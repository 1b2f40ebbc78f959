#include "output/svg_layout.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <tuple>

namespace gpuprof::output {
namespace {

using analyze::FlameTree;
using analyze::NodeId;
using analyze::Weight;

void add_capped(uint64_t& sum, uint64_t value) {
  const uint64_t room = std::numeric_limits<uint64_t>::max() - sum;
  sum += std::min(room, value);
}

std::vector<Weight> subtree_weights(const FlameTree& tree) {
  const auto& nodes = tree.nodes();
  std::vector<Weight> sums(nodes.size());
  // Parents come before their children, so one pass from the back sees every subtree complete.
  for (size_t i = nodes.size(); i-- > 0;) {
    add_capped(sums[i].ns, nodes[i].self.ns);
    add_capped(sums[i].count, nodes[i].self.count);
    add_capped(sums[i].bytes, nodes[i].self.bytes);
    if (i == FlameTree::kRoot) continue;
    Weight& parent = sums[nodes[i].parent];
    add_capped(parent.ns, sums[i].ns);
    add_capped(parent.count, sums[i].count);
    add_capped(parent.bytes, sums[i].bytes);
  }
  return sums;
}

// The children of every node, sorted by name: those of node n are at [first[n], first[n + 1]).
struct Children {
  std::vector<size_t> first;
  std::vector<NodeId> ids;
};

Children sorted_children(const FlameTree& tree) {
  const auto& nodes = tree.nodes();
  Children children;
  children.first.assign(nodes.size() + 1, 0);
  for (size_t i = 1; i < nodes.size(); ++i) ++children.first[nodes[i].parent + 1];
  std::partial_sum(children.first.begin(), children.first.end(), children.first.begin());
  children.ids.resize(nodes.empty() ? 0 : nodes.size() - 1);
  std::vector<size_t> next = children.first;
  for (size_t i = 1; i < nodes.size(); ++i) children.ids[next[nodes[i].parent]++] = static_cast<NodeId>(i);
  const auto by_name = [&](NodeId a, NodeId b) {
    return std::forward_as_tuple(tree.name(nodes[a]), nodes[a].cls) <
           std::forward_as_tuple(tree.name(nodes[b]), nodes[b].cls);
  };
  for (size_t i = 0; i < nodes.size(); ++i) {
    std::sort(children.ids.begin() + static_cast<ptrdiff_t>(children.first[i]),
              children.ids.begin() + static_cast<ptrdiff_t>(children.first[i + 1]), by_name);
  }
  return children;
}

std::vector<LaidFrame> depth_first(const FlameTree& tree, WeightKind kind, const std::vector<Weight>& sums) {
  const Children children = sorted_children(tree);
  std::vector<LaidFrame> frames;
  std::vector<LaidFrame> pending{{FlameTree::kRoot, 0, sums.empty() ? Weight{} : sums[0], 0, 0}};
  while (!pending.empty()) {
    LaidFrame frame = pending.back();
    pending.pop_back();
    frame.width = raw_weight(frame.weight, kind);
    if (frame.width == 0 && frame.node != FlameTree::kRoot) continue;
    frames.push_back(frame);
    if (sums.empty()) continue;
    for (size_t i = children.first[frame.node + 1]; i-- > children.first[frame.node];) {
      const NodeId child = children.ids[i];
      pending.push_back({child, frame.depth + 1, sums[child], 0, 0});
    }
  }
  return frames;
}

void keep_heaviest(std::vector<LaidFrame>& frames, size_t max_frames) {
  max_frames = std::max<size_t>(max_frames, 1);
  if (frames.size() <= max_frames) return;
  std::vector<uint32_t> order(frames.size());
  std::iota(order.begin(), order.end(), 0U);
  // A parent is at least as heavy as its child and drawn before it: with ties broken by drawing order, what is kept
  // never lacks a parent.
  std::nth_element(order.begin(), order.begin() + static_cast<ptrdiff_t>(max_frames), order.end(),
                   [&](uint32_t a, uint32_t b) {
                     return frames[a].width != frames[b].width ? frames[a].width > frames[b].width : a < b;
                   });
  order.resize(max_frames);
  std::sort(order.begin(), order.end());
  for (size_t i = 0; i < order.size(); ++i) frames[i] = frames[order[i]];
  frames.resize(order.size());
}

void set_starts(std::vector<LaidFrame>& frames) {
  struct Open {
    uint64_t next = 0;  // where the next child starts
    uint64_t end = 0;
  };
  std::vector<Open> open;  // by depth
  for (LaidFrame& frame : frames) {
    open.resize(frame.depth);
    if (frame.depth > 0) {
      Open& parent = open.back();
      frame.start = parent.next;
      // Only capped sums can make children wider than their parent.
      frame.width = std::min(frame.width, parent.end - parent.next);
      parent.next += frame.width;
    }
    open.push_back({frame.start, frame.start + frame.width});
  }
}

}  // namespace

FlameLayout lay_out(const FlameTree& tree, WeightKind kind, size_t max_frames, size_t max_depth) {
  FlameLayout layout;
  layout.frames = depth_first(tree, kind, subtree_weights(tree));
  const size_t all = layout.frames.size();
  std::erase_if(layout.frames, [&](const LaidFrame& frame) { return frame.depth > max_depth; });
  keep_heaviest(layout.frames, max_frames);
  set_starts(layout.frames);
  layout.left_out = all - layout.frames.size();
  return layout;
}

}  // namespace gpuprof::output
