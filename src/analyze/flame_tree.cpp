#include "analyze/flame_tree.h"

namespace gpuprof::analyze {

size_t FlameTree::KeyHash::operator()(const Key& key) const {
  constexpr uint64_t kOdd = 0x9E3779B97F4A7C15U;
  const uint64_t ids = (uint64_t{key.parent} << 32U) | key.name;
  const uint64_t mixed = (ids ^ (uint64_t{static_cast<uint8_t>(key.cls)} << 56U)) * kOdd;
  return mixed ^ (mixed >> 32U);
}

FlameTree::FlameTree() {
  names_.emplace_back();
  nodes_.push_back(Node{});
}

NodeId FlameTree::child(NodeId parent, std::string_view name, FrameClass cls) {
  auto known_name = name_ids_.find(name);
  if (known_name == name_ids_.end()) {
    known_name = name_ids_.emplace(name, static_cast<uint32_t>(names_.size())).first;
    names_.emplace_back(name);
  }
  const Key key{parent, known_name->second, cls};
  const auto [known, added] = children_.try_emplace(key, static_cast<NodeId>(nodes_.size()));
  if (added) {
    nodes_.push_back(Node{.parent = parent, .name = key.name, .cls = cls, .self = {}});
  }
  return known->second;
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
