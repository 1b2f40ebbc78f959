// The result of folding a profile: a tree of frames, root first, with what was measured at each leaf.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/hash.h"
#include "base/large_vector.h"
#include "base/slot_table.h"

namespace gpuprof::analyze {

// What a frame stands for; decides suffixes in folded output and colours in pictures.
enum class FrameClass : uint8_t {
  process,  // process, thread, device ... : a dimension
  native,   // CPU, user space
  inlined,
  python,
  interpreter,  // CPU, machine code of the Python interpreter itself
  kernel,       // CPU, kernel space; folded suffix _[k]
  separator,    // "-"
  gpu,          // GPU kernel, copy, file or symbol; folded suffix _[G]
  gpu_detail,   // instruction, stall reason, offset; folded suffix _[g]
  note,         // "[no CPU stack]", "[truncated]", "[unknown]": something is missing
  mark,         // an NVTX range, "[captured at]", "[idle before saxpy]": what frames around it mean
};

inline constexpr size_t kFrameClasses = 11;

struct Weight {
  uint64_t ns = 0;     // of GPU time; in a tree of another measure, of that
  uint64_t count = 0;  // GPU records, launches, samples, calls
  uint64_t bytes = 0;

  static constexpr uint64_t Weight::*kNumbers[] = {&Weight::ns, &Weight::count, &Weight::bytes};

  Weight& operator+=(const Weight& other) {
    ns += other.ns;
    count += other.count;
    bytes += other.bytes;
    return *this;
  }
};

using NodeId = uint32_t;
enum class NameId : uint32_t {};   // of a FlameTree
enum class LabelId : uint32_t {};  // of a FlameTree: a name with its class

// Paths share what they begin with: a node holds all frames up to where paths part or end, as labels that lie side by
// side. So a tree grows with the paths put into it, not with how deep they are, and a hostile profile, which may have
// one stack of 65536 frames below each of a million parents, does not come to billions of nodes.
class FlameTree {
 public:
  struct Label {
    NameId name{};
    FrameClass cls = FrameClass::note;
  };
  // Labels that lie side by side, at least one; made by keep().
  struct Run {
    uint32_t begin = 0;
    uint32_t size = 0;
  };
  struct Node {
    NodeId parent = 0;
    Run run;                      // its frames, root first
    uint32_t weight = kNoWeight;  // in weights_
  };

  FlameTree();
  FlameTree(const FlameTree&) = delete;
  FlameTree& operator=(const FlameTree&) = delete;
  FlameTree(FlameTree&&) = default;
  FlameTree& operator=(FlameTree&&) = default;
  ~FlameTree() = default;

  static constexpr NodeId kRoot = 0;  // has no frames and is nobody's child

  // The child of `parent` with that name and class, made if need be. `name` carries no suffix.
  NodeId child(NodeId parent, std::string_view name, FrameClass cls) { return child(parent, label(intern(name), cls)); }
  // The same by the label's id: for one that is wanted often.
  NodeId child(NodeId parent, LabelId label) { return descend(parent, run(label)); }
  [[nodiscard]] Run run(LabelId label) const { return {labels_[index(label)].begin, 1}; }
  // Lets the wait for memory of descend() pass in the background. The run is not empty.
  [[gnu::always_inline]] void prefetch(NodeId parent, Run run) const { children_.prefetch(hash(parent, at(run)[0])); }
  // What lies below `parent` by all frames of the run.
  NodeId descend(NodeId parent, Run run);

  NameId intern(std::string_view name);
  LabelId label(NameId name, FrameClass cls);
  Run keep(std::span<const LabelId> path);  // empty for an empty one
  void add(NodeId node, const Weight& weight);
  void reserve(size_t nodes);  // as many more are expected, each with a weight

  [[nodiscard]] const LargeVector<Node>& nodes() const { return nodes_; }  // in no order; nodes()[kRoot] is the root
  [[nodiscard]] std::span<const LabelId> frames(const Node& node) const { return at(node.run); }
  [[nodiscard]] size_t label_count() const { return labels_.size(); }
  [[nodiscard]] Label label(LabelId id) const { return labels_[index(id)].label; }
  [[nodiscard]] std::string_view name(LabelId id) const { return names_[static_cast<uint32_t>(label(id).name)]; }
  [[nodiscard]] const Weight& self(const Node& node) const;  // of what ends at its last frame
  [[nodiscard]] Weight total() const;

 private:
  static constexpr uint32_t kNoWeight = UINT32_MAX;
  struct KnownLabel {
    Label label;
    uint32_t begin = 0;  // where it lies alone
  };
#ifdef GPUPROF_FUZZING
  static constexpr uint32_t kBlock = uint32_t{1} << 12U;  // more than an input can ask for at a time
#else
  static constexpr uint32_t kBlock = uint32_t{1} << 20U;  // labels
#endif

  static uint32_t index(LabelId id) {
    return static_cast<uint32_t>(id);
  }
  [[nodiscard]] std::span<const LabelId> at(Run run) const {
    return run.size == 0 ? std::span<const LabelId>()
                         : std::span(&blocks_[run.begin / kBlock][run.begin % kBlock], run.size);
  }
  [[nodiscard]] uint64_t hash(NodeId parent, LabelId first) const {
    return fold_multiply(seed_ ^ join_ids(parent, index(first)), kHashMultiplier);
  }
  [[nodiscard]] size_t find(NodeId parent, LabelId first, uint64_t h) const;
  NodeId split(size_t slot, uint32_t frames);
  void insert(size_t slot, uint64_t h, NodeId node);

  LargeVector<Node> nodes_;
  LargeVector<Weight> weights_;
  std::deque<std::string> names_;
  std::unordered_map<std::string_view, NameId> name_ids_;  // of names_, whose strings stay where they are
  std::vector<KnownLabel> labels_;
  std::unordered_map<uint64_t, LabelId> label_ids_;
  std::vector<std::unique_ptr<LabelId[]>> blocks_;
  uint64_t kept_ = 0;   // labels in blocks_, with what is left free at their ends
  SlotTable children_;  // nodes, by their parent and first frame
  uint64_t seed_;
};

}  // namespace gpuprof::analyze
