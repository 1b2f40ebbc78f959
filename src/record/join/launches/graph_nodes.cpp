#include "record/join/launches/graph_nodes.h"

#include <algorithm>

#include "record/join/context/pending.h"

namespace gpuprof::record {
namespace {

// A copy may itself be a copy. Chains of copies are followed up to this length.
constexpr int kMaxChain = 64;
constexpr size_t kMaxCopies = 100'000;

}  // namespace

GraphNodes::Node* GraphNodes::make(const Key& key) {
  if (Node* const known = nodes_.find(key); known != nullptr) {
    return known;
  }
  return nodes_.size() >= kMaxNodes || !MemoryBudget::admits(memory_) ? nullptr : &nodes_[key];
}

void GraphNodes::captured(backend::SourceId source, uint64_t node, uint64_t stack) {
  Node* entry = make({source, node});
  if (entry == nullptr) {
    return;
  }
  // Copying a node also calls the launch probe. Ignore that event. It may arrive after the record of the copy.
  const bool is_of_copy = entry->original != 0 && !entry->destroyed && poll_iterations_ - entry->copied < kMaxRetries;
  if (!is_of_copy) {
    const uint32_t name = entry->destroyed ? 0 : entry->name.value;
    *entry = {.stack = {.value = stack}, .name = {.value = name}};
  }
}

void GraphNodes::update(const Key& key, const backend::GraphNode& node) {
  Node* entry = make(key);
  if (entry == nullptr) {
    return;
  }
  const uint64_t stack = first_of(key.source, key.number, &Node::stack);
  const uint32_t name = first_of(key.source, key.number, &Node::name);
  if (node.original == 0) {
    entry->name.change(name, node.name_id, node.time_ns);
    return;
  }
  entry->stack.change(stack, first_of(key.source, node.original, &Node::stack), node.time_ns);
  entry->name.change(name, first_of(key.source, node.original, &Node::name), node.time_ns);
  entry->original = node.original;
  find_stack_later(key, *entry);
}

// Queues the node for retries if it is a copy and the stack of its original has not arrived.
void GraphNodes::find_stack_later(const Key& key, const Node& node) {
  if (node.stack.value == 0 && copies_.size() < kMaxCopies) {
    copies_.push_back({key, 0});
  }
}

void GraphNodes::add(backend::SourceId source, const backend::GraphNode& node, uint64_t now_ns) {
  const Key key{source, node.node};
  if (node.destroyed) {
    if (Node* const known = nodes_.find(key); known != nullptr && !known->destroyed) {
      known->destroyed = true;
      destroyed_.push_back({key, now_ns + kKeepDestroyedNs});
    }
    return;
  }
  if (node.updated) {
    update(key, node);
    return;
  }
  Node* entry = make(key);
  if (entry == nullptr) {
    return;
  }
  entry->destroyed = false;
  if (node.name_id != 0) {
    entry->name.value = node.name_id;
  }
  if (node.original != 0) {
    entry->original = node.original;
    entry->copied = poll_iterations_;
    entry->stack = {.value = first_of(source, node.original, &Node::stack)};
    entry->name = {.value = first_of(source, node.original, &Node::name)};
    find_stack_later(key, *entry);
  }
}

template <typename Value>
Value GraphNodes::first_of(backend::SourceId source, uint64_t node, Dated<Value> Node::*member) const {
  for (int i = 0; i < kMaxChain && node != 0; ++i) {
    const Node* const found = nodes_.find({source, node});
    if (found == nullptr) {
      return 0;
    }
    if ((found->*member).value != 0) {
      return (found->*member).value;
    }
    node = found->original;
  }
  return 0;
}

bool GraphNodes::is_steady(backend::SourceId source, uint64_t node) const {
  const Node* const found = nodes_.find({source, node});
  return found != nullptr && found->stack.since_ns == 0 && found->name.since_ns == 0;
}

uint64_t GraphNodes::stack(backend::SourceId source, uint64_t node, uint64_t launched_ns) const {
  const Node* const found = nodes_.find({source, node});
  if (found != nullptr && launched_ns != 0 && launched_ns < found->stack.since_ns) {
    return found->stack.at(launched_ns);
  }
  return first_of(source, node, &Node::stack);
}

// Returns 0 if the node's kernel may have changed and the time of the launch is unknown, because a wrong name is worse
// than none.
uint32_t GraphNodes::name(backend::SourceId source, uint64_t node, uint64_t launched_ns) const {
  const Node* const found = nodes_.find({source, node});
  if (found != nullptr && found->name.since_ns != 0) {
    return launched_ns == 0 ? 0 : found->name.at(launched_ns);
  }
  return first_of(source, node, &Node::name);
}

void GraphNodes::named(backend::SourceId source, uint64_t node, uint32_t name_id, uint64_t launched_ns) {
  Node* const found = nodes_.find({source, node});
  if (found == nullptr) {
    if (Node* made = make({source, node}); made != nullptr) {
      made->name.value = name_id;
    }
  } else if (auto& name = found->name; name.value != name_id && launched_ns >= name.since_ns) {
    name.value = name_id;
  }
}

void GraphNodes::retry_pending(uint64_t now_ns) {
  ++poll_iterations_;
  std::erase_if(copies_, [&](Copy& copy) {
    Node* const found = nodes_.find(copy.key);
    if (found == nullptr) {
      return true;
    }
    found->stack.value = first_of(copy.key.source, copy.key.number, &Node::stack);
    return found->stack.value != 0 || ++copy.retries >= kMaxRetries;
  });
  for (; !destroyed_.empty() && destroyed_.front().forget_ns <= now_ns; destroyed_.pop_front()) {
    // A new node may have got the destroyed node's id. Keep that node.
    const Node* const found = nodes_.find(destroyed_.front().key);
    if (found != nullptr && found->destroyed) {
      nodes_.erase(destroyed_.front().key);
    }
  }
}

void GraphNodes::end_source(backend::SourceId source) {
  nodes_.erase_if([source](const auto& entry) { return entry.first.source == source; });
  std::erase_if(copies_, [source](const Copy& copy) { return copy.key.source == source; });
  std::erase_if(destroyed_, [source](const Destroyed& node) { return node.key.source == source; });
}

}  // namespace gpuprof::record
