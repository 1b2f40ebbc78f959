// Which stack made which node of a CUDA graph, and which kernel it runs. Nodes are copied when a graph is cloned or
// instantiated, and the original may be gone before the copy is first heard of; a node of an executable graph may be
// given something else to run.
#pragma once

#include <cstdint>
#include <deque>
#include <unordered_map>
#include <vector>

#include "backend/event_sink.h"
#include "record/join/context/owned_id.h"
#include "record/memory_budget.h"

namespace gpuprof::record {

class GraphNodes {
 public:
  static constexpr size_t kMaxNodes = 2'000'000;               // of all processes; later ones have no capture stack
  static constexpr uint64_t kKeepDestroyedNs = 5'000'000'000;  // work and copies of it may still be on their way

  explicit GraphNodes(MemoryBudget* memory = nullptr) : memory_(memory) {}

  // The probe's call for a node: `stack` is the engine's id, 0 where it could not be read.
  void captured(backend::SourceId source, uint64_t node, uint64_t stack);
  void add(backend::SourceId source, const backend::GraphNode& node, uint64_t now_ns);

  [[nodiscard]] bool knows(backend::SourceId source, uint64_t node) const { return nodes_.contains({source, node}); }
  // For work of a launch at `launched_ns`, which may come after the node has been given other work; 0: the launch is
  // not known. The stack that made the node, or what it is a copy of; 0: not known.
  [[nodiscard]] uint64_t stack(backend::SourceId source, uint64_t node, uint64_t launched_ns = 0) const;
  // Name id of the kernel; 0: not known.
  [[nodiscard]] uint32_t name(backend::SourceId source, uint64_t node, uint64_t launched_ns) const;
  // Work of the node, of a launch at `launched_ns`, has told its name.
  void named(backend::SourceId source, uint64_t node, uint32_t name_id, uint64_t launched_ns);

  // Copies whose original was not known yet; nodes that are gone for long.
  void settle(uint64_t now_ns);
  void end_source(backend::SourceId source);
  [[nodiscard]] size_t size() const { return nodes_.size(); }

 private:
  using Key = OwnedId;
  // A value since `since_ns`, and what it was since `old_since_ns` before that. Older ones are not kept.
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
    // 0: not known.
    [[nodiscard]] Value at(uint64_t ns) const { return ns >= since_ns ? value : ns >= old_since_ns ? old : 0; }
  };
  struct Node {
    Dated<uint64_t> stack;
    Dated<uint32_t> name;
    uint64_t original = 0;  // of which it is a copy
    uint64_t copied = 0;    // the turn in which that was told
    bool destroyed = false;
  };
  struct Copy {
    Key key;
    unsigned turns;
  };
  struct Destroyed {
    Key key;
    uint64_t forget_ns;
  };
  Node* make(const Key& key);
  void update(const Key& key, const backend::GraphNode& node);
  void find_stack_later(const Key& key, const Node& node);
  // What the node says itself, or the nearest of those that it is a copy of.
  template <typename Value>
  [[nodiscard]] Value first_of(backend::SourceId source, uint64_t node, Dated<Value> Node::*member) const;

  MemoryBudget* memory_;
  std::unordered_map<Key, Node, OwnedIdHash> nodes_;
  std::vector<Copy> copies_;  // without a stack so far
  std::deque<Destroyed> destroyed_;
  uint64_t turns_ = 0;
};

}  // namespace gpuprof::record
