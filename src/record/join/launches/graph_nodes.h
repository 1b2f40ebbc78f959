// Maps each CUDA graph node to its kernel and to the stack that created it. CUDA copies nodes on clone and instantiate,
// and may destroy the original before the copy is reported. Programs can update nodes of executable graphs.
#pragma once

#include <cstdint>
#include <deque>
#include <unordered_map>
#include <vector>

#include "backend/event_sink.h"
#include "base/recent_map.h"
#include "record/join/context/owned_id.h"
#include "record/memory_budget.h"

namespace gpuprof::record {

class GraphNodes {
 public:
  static constexpr size_t kMaxNodes = 2'000'000;  // limit for all processes together; further nodes are not stored
  // A destroyed node is kept for this time, because its last work and its copies may arrive later.
  static constexpr uint64_t kKeepDestroyedNs = 5'000'000'000;

  explicit GraphNodes(MemoryBudget* memory = nullptr) : memory_(memory) {}

  // Handles the launch probe's event for a node. `stack` is a Stacks::Number, or 0 if the stack could not be read.
  void captured(backend::SourceId source, uint64_t node, uint64_t stack);
  void add(backend::SourceId source, const backend::GraphNode& node, uint64_t now_ns);

  [[nodiscard]] bool knows(backend::SourceId source, uint64_t node) const { return nodes_.contains({source, node}); }
  // Returns whether the node was never updated.
  [[nodiscard]] bool is_steady(backend::SourceId source, uint64_t node) const;
  // Returns the stack of the node, or of its original, for a launch at `launched_ns` (0: the time is unknown). Returns
  // 0 if the stack is unknown.
  [[nodiscard]] uint64_t stack(backend::SourceId source, uint64_t node, uint64_t launched_ns = 0) const;
  // Returns the id of the kernel's name for a launch at `launched_ns`; 0: the name is unknown.
  [[nodiscard]] uint32_t name(backend::SourceId source, uint64_t node, uint64_t launched_ns) const;
  // Stores the kernel name that GPU work of the node has reported.
  void named(backend::SourceId source, uint64_t node, uint32_t name_id, uint64_t launched_ns);

  // Retries copies whose original was unknown, and removes nodes that were destroyed long ago.
  void retry_pending(uint64_t now_ns);
  void end_source(backend::SourceId source);
  [[nodiscard]] size_t size() const { return nodes_.size(); }

 private:
  using Key = OwnedId;
  // `value` is valid from `since_ns` on. `old` was valid from `old_since_ns` until `since_ns`. Older values are
  // dropped.
  template <typename Value>
  struct Dated {
    Value value = 0;
    Value old = 0;
    uint64_t since_ns = 0;
    uint64_t old_since_ns = 0;

    void change(Value before, Value now, uint64_t at_ns) {
      if (before != now) {
        *this = {now, before, at_ns, since_ns};
      }
    }
    // Returns 0 for a time at which neither value was valid.
    [[nodiscard]] Value at(uint64_t ns) const { return ns >= since_ns ? value : ns >= old_since_ns ? old : 0; }
  };
  struct Node {
    Dated<uint64_t> stack;
    Dated<uint32_t> name;
    uint64_t original = 0;  // the node that this node copies, or whose work it runs; 0: no other node
    uint64_t copied = 0;
    bool destroyed = false;
  };
  struct Copy {
    Key key;
    unsigned retries;
  };
  struct Destroyed {
    Key key;
    uint64_t forget_ns;
  };
  Node* make(const Key& key);
  void update(const Key& key, const backend::GraphNode& node);
  void find_stack_later(const Key& key, const Node& node);
  // Returns the node's own value, or that of the nearest original that has one.
  template <typename Value>
  [[nodiscard]] Value first_of(backend::SourceId source, uint64_t node, Dated<Value> Node::*member) const;

  MemoryBudget* memory_;
  RecentMap<std::unordered_map<Key, Node, OwnedIdHash>> nodes_;
  std::vector<Copy> copies_;
  std::deque<Destroyed> destroyed_;
  uint64_t poll_iterations_ = 0;
};

}  // namespace gpuprof::record
