#include "output/picture/svg_layout.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <span>

namespace gpuprof::output {
namespace {

using analyze::FlameTree;
using analyze::LabelId;
using analyze::NodeId;
using analyze::Weight;

void add_capped(uint64_t& sum, uint64_t value) {
  const uint64_t room = std::numeric_limits<uint64_t>::max() - sum;
  sum += std::min(room, value);
}

// The children of all nodes, sorted by name. The children of node n are in the range [first[n], first[n + 1]).
struct Children {
  std::vector<uint32_t> first;
  std::vector<NodeId> ids;
};

// Returns the rank of each label, ordered by name and then by class.
std::vector<uint32_t> label_ranks(const FlameTree& tree) {
  std::vector<uint32_t> order(tree.label_count());
  std::iota(order.begin(), order.end(), 0U);
  std::sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) {
    const LabelId x{a};
    const LabelId y{b};
    return tree.label(x).name == tree.label(y).name ? tree.label(x).cls < tree.label(y).cls
                                                    : tree.name(x) < tree.name(y);
  });
  std::vector<uint32_t> ranks(order.size());
  for (uint32_t i = 0; i < order.size(); ++i) ranks[order[i]] = i;
  return ranks;
}

Children sorted_children(const FlameTree& tree) {
  const auto& nodes = tree.nodes();
  Children children;
  children.first.assign(nodes.size() + 1, 0);
  for (size_t i = 1; i < nodes.size(); ++i) ++children.first[nodes[i].parent + 1];
  std::partial_sum(children.first.begin(), children.first.end(), children.first.begin());
  children.ids.resize(nodes.size() - 1);
  std::vector<uint32_t> next = children.first;
  for (size_t i = 1; i < nodes.size(); ++i) children.ids[next[nodes[i].parent]++] = static_cast<NodeId>(i);
  const std::vector<uint32_t> ranks = label_ranks(tree);
  const auto rank = [&](NodeId id) { return ranks[static_cast<uint32_t>(tree.frames(nodes[id])[0])]; };
  for (size_t i = 0; i < nodes.size(); ++i) {
    std::sort(children.ids.begin() + children.first[i], children.ids.begin() + children.first[i + 1],
              [&](NodeId a, NodeId b) { return rank(a) < rank(b); });
  }
  return children;
}

// The frames of one tree node. All have the weight of the node's subtree.
struct Segment {
  NodeId node = 0;
  uint64_t depth = 0;  // depth of the first frame
  uint64_t size = 1;   // number of frames; the root counts as one frame
  Weight weight;
  uint64_t width = 0;
};

std::vector<Segment> depth_first(const FlameTree& tree) {
  const Children children = sorted_children(tree);
  std::vector<Segment> segments;
  segments.reserve(tree.nodes().size());
  std::vector<Segment> pending{{}};
  while (!pending.empty()) {
    const Segment segment = pending.back();
    pending.pop_back();
    segments.push_back(segment);
    for (size_t i = children.first[segment.node + 1]; i-- > children.first[segment.node];) {
      const NodeId child = children.ids[i];
      pending.push_back({.node = child, .depth = segment.depth + segment.size, .size = tree.nodes()[child].run.size});
    }
  }
  return segments;
}

void weigh(const FlameTree& tree, WeightKind kind, std::vector<Segment>& segments) {
  std::vector<Weight> sums(segments.size());  // indexed by node: the weight of its subtree
  const auto add = [](Weight& sum, const Weight& part) {
    add_capped(sum.ns, part.ns);
    add_capped(sum.count, part.count);
    add_capped(sum.bytes, part.bytes);
  };
  // Children come after their parent, so a backward pass sees each subtree complete.
  for (auto segment = segments.rbegin(); segment != segments.rend(); ++segment) {
    const FlameTree::Node& node = tree.nodes()[segment->node];
    Weight& sum = sums[segment->node];
    add(sum, tree.self(node));
    segment->weight = sum;
    segment->width = raw_weight(sum, kind);
    if (segment->node != FlameTree::kRoot) add(sums[node.parent], sum);
  }
}

uint64_t count_frames(const std::vector<Segment>& segments) {
  return std::accumulate(segments.begin(), segments.end(), uint64_t{0},
                         [](uint64_t sum, const Segment& segment) { return sum + segment.size; });
}

void keep_upper(std::vector<Segment>& segments, size_t max_depth) {
  std::erase_if(segments, [&](const Segment& segment) { return segment.depth > max_depth; });
  for (Segment& segment : segments) segment.size = std::min<uint64_t>(segment.size, max_depth - segment.depth + 1);
}

void keep_heaviest(std::vector<Segment>& segments, size_t max_frames) {
  uint64_t left = std::max<size_t>(max_frames, 1);
  if (count_frames(segments) <= left) return;
  std::vector<uint32_t> order(segments.size());
  std::iota(order.begin(), order.end(), 0U);
  // A parent is at least as heavy as its child and comes before it here, so the parent of a kept frame is always kept.
  std::sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) {
    return segments[a].width != segments[b].width ? segments[a].width > segments[b].width : a < b;
  });
  for (const uint32_t at : order) {
    segments[at].size = std::min(segments[at].size, left);
    left -= segments[at].size;
  }
  std::erase_if(segments, [](const Segment& segment) { return segment.size == 0; });
}

std::vector<LaidFrame> frames_of(const FlameTree& tree, const std::vector<Segment>& segments) {
  std::vector<LaidFrame> frames;
  for (const Segment& segment : segments) {
    const std::span<const LabelId> labels = tree.frames(tree.nodes()[segment.node]);
    for (size_t i = 0; i < segment.size; ++i) {
      frames.push_back({.label = labels.empty() ? LabelId{} : labels[i],
                        .depth = static_cast<uint32_t>(segment.depth + i),
                        .weight = segment.weight,
                        .start = 0,
                        .width = segment.width});
    }
  }
  return frames;
}

// Marks frames that lack callees in the layout: they are wider than their own weight and their callees together.
void mark_cut(const FlameTree& tree, WeightKind kind, const std::vector<Segment>& segments,
              std::vector<LaidFrame>& frames) {
  std::vector<uint64_t> known(frames.size());  // for each frame: its own weight plus the widths of its callees
  size_t at = 0;
  for (const Segment& segment : segments) {
    at += segment.size;
    const FlameTree::Node& node = tree.nodes()[segment.node];
    const bool whole = segment.node == FlameTree::kRoot || segment.size == node.run.size;
    if (whole) known[at - 1] = raw_weight(tree.self(node), kind);
  }
  std::vector<size_t> open;  // indexed by depth
  for (size_t i = 0; i < frames.size(); ++i) {
    open.resize(frames[i].depth);
    if (!open.empty()) add_capped(known[open.back()], frames[i].width);
    open.push_back(i);
  }
  for (size_t i = 0; i < frames.size(); ++i) frames[i].cut = known[i] < frames[i].width;
}

void set_starts(std::vector<LaidFrame>& frames) {
  struct Open {
    uint64_t next = 0;  // left edge of the next child
    uint64_t end = 0;
  };
  std::vector<Open> open;  // indexed by depth
  for (LaidFrame& frame : frames) {
    open.resize(frame.depth);
    if (frame.depth > 0) {
      Open& parent = open.back();
      frame.start = parent.next;
      // Children can be wider than their parent only if sums saturated.
      frame.width = std::min(frame.width, parent.end - parent.next);
      parent.next += frame.width;
    }
    open.push_back({frame.start, frame.start + frame.width});
  }
}

}  // namespace

FlameLayout lay_out(const FlameTree& tree, WeightKind kind, size_t max_frames, size_t max_depth) {
  std::vector<Segment> segments = depth_first(tree);
  weigh(tree, kind, segments);
  std::erase_if(segments,
                [](const Segment& segment) { return segment.width == 0 && segment.node != FlameTree::kRoot; });
  const uint64_t all = count_frames(segments);
  keep_upper(segments, max_depth);
  keep_heaviest(segments, max_frames);
  FlameLayout layout;
  layout.frames = frames_of(tree, segments);
  set_starts(layout.frames);
  layout.left_out = all - layout.frames.size();
  if (layout.left_out > 0) mark_cut(tree, kind, segments, layout.frames);
  return layout;
}

}  // namespace gpuprof::output
