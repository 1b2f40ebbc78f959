// The result of folding a profile: a tree of frames, root first, with what was measured at each leaf.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

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

struct Weight {
  uint64_t ns = 0;     // of GPU time; in a tree of another measure, of that
  uint64_t count = 0;  // GPU records, launches, samples, calls
  uint64_t bytes = 0;

  Weight& operator+=(const Weight& other) {
    ns += other.ns;
    count += other.count;
    bytes += other.bytes;
    return *this;
  }
};

using NodeId = uint32_t;
enum class NameId : uint32_t {};  // of a FlameTree

class FlameTree {
 public:
  struct Node {
    NodeId parent = 0;
    NameId name{};
    FrameClass cls = FrameClass::note;
    Weight self;
  };

  FlameTree();

  static constexpr NodeId kRoot = 0;  // has no name and is nobody's child

  // The child of `parent` with that name and class, made if need be. `name` carries no suffix.
  NodeId child(NodeId parent, std::string_view name, FrameClass cls) { return child(parent, intern(name), cls); }
  // The same by the name's id: for a name that is wanted often.
  NodeId child(NodeId parent, NameId name, FrameClass cls);
  NameId intern(std::string_view name);
  void add(NodeId node, const Weight& weight);

  [[nodiscard]] const std::vector<Node>& nodes() const { return nodes_; }  // parents come before children
  [[nodiscard]] const std::string& name(const Node& node) const { return names_[static_cast<uint32_t>(node.name)]; }
  [[nodiscard]] Weight total() const;

 private:
  // A child, found by open addressing: its hash's upper half tells most others apart without a look at their nodes.
  struct Slot {
    NodeId node = kRoot;  // nobody's child: the slot is free
    uint32_t tag = 0;
  };
  static constexpr size_t kFirstSlots = 1024;  // a power of two, as every size

  [[nodiscard]] uint64_t hash(NodeId parent, NameId name, FrameClass cls) const;
  void grow();

  struct NameHash {
    using is_transparent = void;
    size_t operator()(std::string_view text) const { return std::hash<std::string_view>{}(text); }
  };
  std::vector<Node> nodes_;
  std::vector<std::string> names_;
  std::unordered_map<std::string, NameId, NameHash, std::equal_to<>> name_ids_;
  std::vector<Slot> children_;
  uint64_t seed_;
};

}  // namespace gpuprof::analyze
