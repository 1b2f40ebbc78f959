// A folded profile: a tree of frames, outermost first, with the measured weights at the leaves.
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

// The kind of a frame. Decides the frame's suffix in folded output and its colour in pictures.
enum class FrameClass : uint8_t {
  process,  // process, thread, device or another dimension of --by
  native,   // CPU, user space
  inlined,
  python,
  interpreter,  // CPU, machine code of the Python interpreter
  kernel,       // CPU, kernel space; folded suffix _[k]
  separator,    // "-" between user and kernel frames
  gpu,          // GPU kernel, copy, source line, module or function; folded suffix _[G]
  gpu_detail,   // instruction, stall reason, offset; folded suffix _[g]
  note,         // "[no CPU stack]", "[truncated]", "[unknown]": missing data
  mark,         // NVTX range, "[captured at]", "[no Python frames]": not code, explains the frames next to it
  event,        // "[idle before saxpy]", "[sync clFinish]", "[alloc]", a failed call: not code, and no GPU work
};

inline constexpr size_t kFrameClasses = 12;

struct Weight {
  uint64_t ns = 0;     // GPU time, or what the tree measures instead
  uint64_t count = 0;  // number of GPU records, launches, samples or calls, whichever the tree counts
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
enum class NameId : uint32_t {};
enum class LabelId : uint32_t {};  // index of a FlameTree label: a name with a class

// A prefix tree of call paths. A node holds all frames up to the next branch. So the tree grows with the number of
// paths, not with their depth: a hostile profile may repeat one stack of 65536 frames below a million parents.
class FlameTree {
 public:
  struct Label {
    NameId name{};
    FrameClass cls = FrameClass::note;
  };
  // One or more adjacent labels in the memory of a FlameTree.
  struct Run {
    uint32_t begin = 0;
    uint32_t size = 0;
  };
  struct Node {
    NodeId parent = 0;
    Run run;  // frames of the node, outermost first
    uint32_t weight = kNoWeight;
  };

  FlameTree();
  FlameTree(const FlameTree&) = delete;
  FlameTree& operator=(const FlameTree&) = delete;
  FlameTree(FlameTree&&) = default;
  FlameTree& operator=(FlameTree&&) = default;
  ~FlameTree() = default;

  static constexpr NodeId kRoot = 0;  // has no frames and no parent

  // Returns the child of `parent` with that name and class; creates it if needed. `name` has no suffix such as _[k].
  NodeId child(NodeId parent, std::string_view name, FrameClass cls) { return child(parent, label(intern(name), cls)); }
  NodeId child(NodeId parent, LabelId label) { return descend(parent, run(label)); }
  [[nodiscard]] Run run(LabelId label) const { return {labels_[index(label)].begin, 1}; }
  // Prefetches what descend() needs. The run must not be empty.
  [[gnu::always_inline]] void prefetch(NodeId parent, Run run) const { children_.prefetch(hash(parent, at(run)[0])); }
  // Returns the node below `parent` at the end of the run; creates nodes if needed.
  NodeId descend(NodeId parent, Run run);

  NameId intern(std::string_view name);
  LabelId label(NameId name, FrameClass cls);
  Run keep(std::span<const LabelId> path);  // stores the labels of a path; empty if `path` is empty
  void add(NodeId node, const Weight& weight);
  void reserve(size_t nodes);

  [[nodiscard]] const LargeVector<Node>& nodes() const { return nodes_; }  // unordered; nodes()[kRoot] is the root
  [[nodiscard]] std::span<const LabelId> frames(const Node& node) const { return at(node.run); }
  [[nodiscard]] size_t label_count() const { return labels_.size(); }
  [[nodiscard]] Label label(LabelId id) const { return labels_[index(id)].label; }
  [[nodiscard]] std::string_view name(LabelId id) const { return names_[static_cast<uint32_t>(label(id).name)]; }
  [[nodiscard]] const Weight& self(const Node& node) const;  // weight of the paths that end at the node's last frame
  [[nodiscard]] Weight total() const;

 private:
  static constexpr uint32_t kNoWeight = UINT32_MAX;
  struct KnownLabel {
    Label label;
    uint32_t begin = 0;  // position of the label in blocks_, as a run of one label
  };
#ifdef GPUPROF_FUZZING
  // Labels per block; few, because each fuzzing input allocates a whole block.
  static constexpr uint32_t kBlock = uint32_t{1} << 12U;
#else
  static constexpr uint32_t kBlock = uint32_t{1} << 20U;  // labels per block
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
  std::unordered_map<std::string_view, NameId> name_ids_;  // keys refer to names_, which never moves its strings
  std::vector<KnownLabel> labels_;
  std::unordered_map<uint64_t, LabelId> label_ids_;
  std::vector<std::unique_ptr<LabelId[]>> blocks_;
  uint64_t kept_ = 0;   // number of labels in blocks_, including the unused ends of blocks
  SlotTable children_;  // finds a node by its parent and its first frame
  uint64_t seed_;
};

}  // namespace gpuprof::analyze
