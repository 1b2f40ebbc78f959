#include "analyze/paths/flame_tree.h"

#include <algorithm>
#include <cstring>
#include <stdexcept>

namespace gpuprof::analyze {
namespace {

// Returns the length of the common prefix. Compares long runs in blocks with memcmp(), which is vectorized.
uint32_t common_labels(std::span<const LabelId> a, std::span<const LabelId> b) {
  constexpr size_t kStride = 64;
  const size_t most = std::min(a.size(), b.size());
  size_t same = 0;
  if (a.data() == b.data()) {
    return static_cast<uint32_t>(most);
  }
  while (most - same >= kStride && std::memcmp(&a[same], &b[same], kStride * sizeof a[0]) == 0) {
    same += kStride;
  }
  while (same < most && a[same] == b[same]) {
    ++same;
  }
  return static_cast<uint32_t>(same);
}

}  // namespace

FlameTree::FlameTree() : nodes_(1), seed_(random_seed()) {}

NameId FlameTree::intern(std::string_view name) {
  auto known = name_ids_.find(name);
  if (known == name_ids_.end()) {
    const auto id = static_cast<NameId>(names_.size());
    known = name_ids_.emplace(names_.emplace_back(name), id).first;
  }
  return known->second;
}

LabelId FlameTree::label(NameId name, FrameClass cls) {
  const auto id = static_cast<LabelId>(labels_.size());
  const uint64_t key = join_ids(static_cast<uint32_t>(name), static_cast<uint8_t>(cls));
  const auto [known, is_new] = label_ids_.try_emplace(key, id);
  if (is_new) {
    labels_.push_back({{name, cls}, keep({&id, 1}).begin});
  }
  return known->second;
}

FlameTree::Run FlameTree::keep(std::span<const LabelId> path) {
  if (path.empty()) {
    return {};
  }
  const uint64_t left = blocks_.size() * uint64_t{kBlock} - kept_;
  if (path.size() > kBlock || (path.size() > left && kept_ + left + kBlock > UINT32_MAX)) {
    // Happens with more than 16 GiB of frames.
    throw std::length_error("the stacks of this profile have too many frames");
  }
  if (path.size() > left) {
    kept_ += left;
    blocks_.emplace_back(new LabelId[kBlock]);  // uninitialized: std::copy() below writes it
  }
  const Run run{static_cast<uint32_t>(kept_), static_cast<uint32_t>(path.size())};
  std::copy(path.begin(), path.end(), &blocks_[run.begin / kBlock][run.begin % kBlock]);
  kept_ += path.size();
  return run;
}

size_t FlameTree::find(NodeId parent, LabelId first, uint64_t h) const {
  return children_.find(h, [&](NodeId child) {
    const Node& known = nodes_[child];
    return known.parent == parent && at(known.run)[0] == first;
  });
}

NodeId FlameTree::descend(NodeId parent, Run run) {
  while (run.size > 0) {
    const LabelId first = at(run)[0];
    const uint64_t h = hash(parent, first);
    const size_t slot = find(parent, first, h);
    const NodeId known = children_.position(slot);
    if (known == SlotTable::kEmpty) {
      const auto added = static_cast<NodeId>(nodes_.size());
      nodes_.push_back({.parent = parent, .run = run});
      insert(slot, h, added);
      return added;
    }
    const uint32_t common = common_labels(at(nodes_[known].run), at(run));
    parent = common < nodes_[known].run.size ? split(slot, common) : known;
    run = {run.begin + common, run.size - common};
  }
  return parent;
}

// Splits a node. A new node gets the first `frames` frames. The old one keeps the rest, so its id means the same path.
NodeId FlameTree::split(size_t slot, uint32_t frames) {
  const NodeId lower = children_.position(slot);
  const auto upper = static_cast<NodeId>(nodes_.size());
  nodes_.push_back({.parent = nodes_[lower].parent, .run = {nodes_[lower].run.begin, frames}});
  children_.replace(slot, upper);
  Node& rest = nodes_[lower];
  rest.parent = upper;
  rest.run = {rest.run.begin + frames, rest.run.size - frames};
  const LabelId first = at(rest.run)[0];
  const uint64_t h = hash(upper, first);
  insert(find(upper, first, h), h, lower);
  return upper;
}

void FlameTree::insert(size_t slot, uint64_t h, NodeId node) {
  children_.put(slot, h, node);
}

void FlameTree::add(NodeId node, const Weight& weight) {
  uint32_t& place = nodes_[node].weight;
  if (place == kNoWeight) {
    place = static_cast<uint32_t>(weights_.size());
    weights_.push_back(weight);
  } else {
    weights_[place] += weight;
  }
}

void FlameTree::reserve(size_t nodes) {
  nodes_.reserve(nodes_.size() + nodes);
  weights_.reserve(weights_.size() + nodes);
}

const Weight& FlameTree::self(const Node& node) const {
  static constexpr Weight kNothing;
  return node.weight == kNoWeight ? kNothing : weights_[node.weight];
}

Weight FlameTree::total() const {
  Weight sum;
  for (const Weight& weight : weights_) {
    sum += weight;
  }
  return sum;
}

}  // namespace gpuprof::analyze
