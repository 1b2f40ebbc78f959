#include "analyze/flame_tree.h"

#include "base/hash.h"

namespace gpuprof::analyze {

uint64_t FlameTree::hash(NodeId parent, NameId name, FrameClass cls) const {
  constexpr uint64_t kOdd = 0x9E3779B97F4A7C15U;
  return fold_multiply(seed_ ^ join_ids(parent, static_cast<uint32_t>(name)),
                       kOdd ^ (uint64_t{1} << 32U << static_cast<uint8_t>(cls)));
}

FlameTree::FlameTree() : children_(kFirstSlots), seed_(random_seed()) {
  names_.emplace_back();
  nodes_.push_back(Node{});
}

NameId FlameTree::intern(std::string_view name) {
  auto known = name_ids_.find(name);
  if (known == name_ids_.end()) {
    known = name_ids_.emplace(name, static_cast<NameId>(names_.size())).first;
    names_.emplace_back(name);
  }
  return known->second;
}

NodeId FlameTree::child(NodeId parent, NameId name, FrameClass cls) {
  const uint64_t h = hash(parent, name, cls);
  const auto tag = static_cast<uint32_t>(h >> 32U);
  const size_t mask = children_.size() - 1;
  size_t slot = h & mask;
  for (; children_[slot].node != kRoot; slot = (slot + 1) & mask) {
    const Node& known = nodes_[children_[slot].node];
    if (children_[slot].tag == tag && known.parent == parent && known.name == name && known.cls == cls) {
      return children_[slot].node;
    }
  }
  const auto added = static_cast<NodeId>(nodes_.size());
  children_[slot] = {added, tag};
  nodes_.push_back(Node{.parent = parent, .name = name, .cls = cls, .self = {}});
  if (2 * nodes_.size() > children_.size()) {
    grow();
  }
  return added;
}

void FlameTree::grow() {
  std::vector<Slot> before(2 * children_.size());
  before.swap(children_);
  const size_t mask = children_.size() - 1;
  for (const Slot& old : before) {
    if (old.node == kRoot) {
      continue;
    }
    const Node& node = nodes_[old.node];
    size_t slot = hash(node.parent, node.name, node.cls) & mask;
    while (children_[slot].node != kRoot) {
      slot = (slot + 1) & mask;
    }
    children_[slot] = old;
  }
}

void FlameTree::add(NodeId node, const Weight& weight) {
  nodes_[node].self += weight;
}

Weight FlameTree::total() const {
  Weight sum;
  for (const Node& node : nodes_) {
    sum += node.self;
  }
  return sum;
}

}  // namespace gpuprof::analyze
