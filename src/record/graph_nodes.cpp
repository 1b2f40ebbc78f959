#include "record/graph_nodes.h"

#include <algorithm>

namespace gpuprof::record {
namespace {

// A copy waits this many turns (of some milliseconds) for its original; copies of copies are followed so far.
constexpr unsigned kMaxTurns = 50;
constexpr int kMaxChain = 64;
constexpr size_t kMaxCopies = 100'000;  // that are looked at in each turn

}  // namespace

GraphNodes::Node* GraphNodes::make(const Key& key) {
  if (const auto known = nodes_.find(key); known != nodes_.end()) {
    return &known->second;
  }
  return nodes_.size() >= kMaxNodes ? nullptr : &nodes_[key];
}

void GraphNodes::captured(backend::SourceId source, uint64_t node, uint64_t stack) {
  Node* entry = make({source, node});
  if (entry == nullptr) {
    return;
  }
  // A copy goes through the probe as well, and that event may come after the copy's record: another CPU was in its way.
  const bool is_of_copy = entry->original != 0 && !entry->destroyed && turns_ - entry->copied < kMaxTurns;
  if (!is_of_copy) {
    *entry = {.stack = stack};
  }
}

void GraphNodes::add(backend::SourceId source, const backend::GraphNode& node, uint64_t now_ns) {
  const Key key{source, node.node};
  if (node.destroyed) {
    if (const auto known = nodes_.find(key); known != nodes_.end() && !known->second.destroyed) {
      known->second.destroyed = true;
      destroyed_.push_back({key, now_ns + kKeepDestroyedNs});
    }
    return;
  }
  Node* entry = make(key);
  if (entry == nullptr) {
    return;
  }
  entry->destroyed = false;
  if (node.original != 0) {
    entry->original = node.original;
    entry->copied = turns_;
    entry->stack = stack(source, node.original);
    if (entry->stack == 0 && copies_.size() < kMaxCopies) {
      copies_.push_back({key, 0});
    }
  }
}

uint64_t GraphNodes::stack(backend::SourceId source, uint64_t node) const {
  for (int i = 0; i < kMaxChain && node != 0; ++i) {
    const auto found = nodes_.find({source, node});
    if (found == nodes_.end()) {
      return 0;
    }
    if (found->second.stack != 0) {
      return found->second.stack;
    }
    node = found->second.original;
  }
  return 0;
}

void GraphNodes::settle(uint64_t now_ns) {
  ++turns_;
  std::erase_if(copies_, [&](Copy& copy) {
    const auto found = nodes_.find(copy.key);
    if (found == nodes_.end()) {
      return true;
    }
    found->second.stack = stack(copy.key.source, copy.key.node);
    return found->second.stack != 0 || ++copy.turns >= kMaxTurns;
  });
  for (; !destroyed_.empty() && destroyed_.front().forget_ns <= now_ns; destroyed_.pop_front()) {
    // A node that has come again under the same id lives.
    const auto found = nodes_.find(destroyed_.front().key);
    if (found != nodes_.end() && found->second.destroyed) {
      nodes_.erase(found);
    }
  }
}

void GraphNodes::end_source(backend::SourceId source) {
  std::erase_if(nodes_, [source](const auto& entry) { return entry.first.source == source; });
  std::erase_if(copies_, [source](const Copy& copy) { return copy.key.source == source; });
  std::erase_if(destroyed_, [source](const Destroyed& node) { return node.key.source == source; });
}

}  // namespace gpuprof::record
