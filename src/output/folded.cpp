#include "output/folded.h"

#include <algorithm>
#include <string_view>
#include <utility>
#include <vector>

#include "base/utf8.h"

namespace gpuprof::output {
namespace {

using analyze::FlameTree;
using analyze::FrameClass;
using analyze::NodeId;

struct Stack {
  std::string path;
  uint64_t weight = 0;  // in the smallest unit
};

std::string_view suffix(FrameClass cls) {
  switch (cls) {
    case FrameClass::kernel:
      return "_[k]";
    case FrameClass::gpu:
      return "_[G]";
    case FrameClass::gpu_detail:
      return "_[g]";
    default:
      return {};
  }
}

// A line is one stack and ';' parts its frames, whatever a name holds.
void append_frame(std::string_view name, FrameClass cls, std::string& path) {
  const size_t begin = path.size();
  if (name.empty()) {
    path += "[unknown]";
  } else if (std::any_of(name.begin(), name.end(), [](char c) {
               return c == ';' || static_cast<unsigned char>(c) < 0x20 || static_cast<unsigned char>(c) >= 0x7F;
             })) {
    std::string plain(name);
    for (char& c : plain) {
      if (c == ';') {
        c = ':';
      } else if (static_cast<unsigned char>(c) < 0x20 || c == 0x7F) {
        c = ' ';
      }
    }
    append_escaped(plain, {}, path);  // bytes that are not UTF-8
  } else {
    path += name;
  }
  const std::string_view end = suffix(cls);
  if (!std::string_view(path).substr(begin).ends_with(end)) {
    path += end;
  }
}

// Every node's path would take memory by depth squared, so only those of nodes with a weight are built, each from its
// parents.
std::vector<Stack> weighted_stacks(const FlameTree& tree, WeightKind kind) {
  std::vector<Stack> stacks;
  std::vector<NodeId> ancestry;
  const auto& nodes = tree.nodes();
  for (NodeId id = 1; id < nodes.size(); ++id) {
    const uint64_t weight = raw_weight(nodes[id].self, kind);
    if (weight == 0) {
      continue;
    }
    ancestry.clear();
    for (NodeId node = id; node != FlameTree::kRoot; node = nodes[node].parent) {
      ancestry.push_back(node);
    }
    Stack& stack = stacks.emplace_back();
    stack.weight = weight;
    for (auto node = ancestry.rbegin(); node != ancestry.rend(); ++node) {
      if (node != ancestry.rbegin()) {
        stack.path += ';';
      }
      append_frame(tree.name(nodes[*node]), nodes[*node].cls, stack.path);
    }
  }
  return stacks;
}

}  // namespace

std::string folded(const FlameTree& tree, const WeightChoice& weight) {
  std::vector<Stack> stacks = weighted_stacks(tree, weight.kind);
  std::sort(stacks.begin(), stacks.end(), [](const Stack& a, const Stack& b) { return a.path < b.path; });
  const uint64_t unit = weight.kind == WeightKind::time && weight.unit == TimeUnit::us ? 1000 : 1;

  std::string out;
  uint64_t before = 0;  // sum of all weights up to the line
  for (size_t i = 0; i < stacks.size();) {
    uint64_t after = before;
    const size_t first = i;
    for (; i < stacks.size() && stacks[i].path == stacks[first].path; ++i) {
      after += stacks[i].weight;  // frames of different classes can look the same
    }
    const uint64_t shown = after / unit - before / unit;
    before = after;
    if (shown > 0) {
      out.append(stacks[first].path).append(" ").append(std::to_string(shown)).append("\n");
    }
  }
  return out;
}

}  // namespace gpuprof::output
