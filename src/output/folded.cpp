#include "output/folded.h"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <map>
#include <string_view>
#include <utility>
#include <vector>

#include "base/utf8.h"

namespace gpuprof::output {
namespace {

using analyze::FlameTree;
using analyze::FrameClass;
using analyze::NodeId;

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
std::string frame_text(std::string_view name, FrameClass cls) {
  std::string text;
  if (name.empty()) {
    text = "[unknown]";
  } else {
    std::string plain(name);
    for (char& c : plain) {
      if (c == ';') {
        c = ':';
      } else if (static_cast<unsigned char>(c) < 0x20 || c == 0x7F) {
        c = ' ';
      }
    }
    append_escaped(plain, {}, text);  // bytes that are not UTF-8
  }
  if (!text.ends_with(suffix(cls))) {
    text += suffix(cls);
  }
  return text;
}

// Writes the lines in the bytewise order of their paths, without holding a path for each: memory stays with the tree.
class Folder {
 public:
  Folder(const FlameTree& tree, const WeightChoice& weight)
      : tree_(tree),
        kind_(weight.kind),
        unit_(weight.kind == WeightKind::time && weight.unit == TimeUnit::us ? 1000 : 1) {
    index_children();
  }

  std::string run() {
    open({FlameTree::kRoot}, 0);
    while (!pending_.empty()) {
      const Step step = std::move(pending_.back());
      pending_.pop_back();
      path_.resize(step.parent_length);
      path_ += step.text;
      if (step.deeper) {
        path_ += ';';
        open(step.nodes, path_.size());
      } else {
        put_line(step.nodes);
      }
    }
    return std::move(out_);
  }

 private:
  // Nodes whose paths look the same: frames of different classes can.
  struct Step {
    std::string text;  // of the last frame
    std::vector<NodeId> nodes;
    size_t parent_length = 0;  // of the path up to it, with its ';'
    bool deeper = false;       // what is below the nodes, instead of their own line
  };

  // Children as one array, those of a node side by side.
  void index_children() {
    const auto& nodes = tree_.nodes();
    first_child_.assign(nodes.size() + 1, 0);
    for (NodeId id = 1; id < nodes.size(); ++id) {
      ++first_child_[nodes[id].parent + 1];
    }
    for (size_t i = 1; i < first_child_.size(); ++i) {
      first_child_[i] += first_child_[i - 1];
    }
    children_.resize(nodes.size() - 1);
    std::vector<uint32_t> next(first_child_.begin(), first_child_.end() - 1);
    for (NodeId id = 1; id < nodes.size(); ++id) {
      children_[next[nodes[id].parent]++] = id;
    }
  }

  // Plans the steps for all children of `parents`. A line "a" comes before "a b", and that before "a;b": a child's own
  // line is ordered by its text, what lies below by its text and ';'.
  void open(const std::vector<NodeId>& parents, size_t parent_length) {
    std::map<std::string, std::vector<NodeId>> by_text;
    for (const NodeId parent : parents) {
      for (uint32_t i = first_child_[parent]; i < first_child_[parent + 1]; ++i) {
        const FlameTree::Node& node = tree_.nodes()[children_[i]];
        by_text[frame_text(tree_.name(node), node.cls)].push_back(children_[i]);
      }
    }
    const size_t first = pending_.size();
    for (auto& [text, nodes] : by_text) {
      pending_.push_back({text, nodes, parent_length, false});
      pending_.push_back({text, std::move(nodes), parent_length, true});
    }
    if (by_text.size() > 1) {
      std::sort(pending_.begin() + static_cast<std::ptrdiff_t>(first), pending_.end(),
                [](const Step& a, const Step& b) { return compare(a, b) < 0; });
    }
    std::reverse(pending_.begin() + static_cast<std::ptrdiff_t>(first), pending_.end());
  }

  // As if a step that goes deeper had a ';' at its text's end.
  static int compare(const Step& a, const Step& b) {
    const size_t common = std::min(a.text.size(), b.text.size());
    if (const int order = std::memcmp(a.text.data(), b.text.data(), common); order != 0) {
      return order;
    }
    const auto next = [common](const Step& step) -> int {
      if (step.text.size() > common) {
        return static_cast<unsigned char>(step.text[common]);
      }
      return step.deeper ? ';' : -1;
    };
    return next(a) - next(b);
  }

  void put_line(const std::vector<NodeId>& nodes) {
    const uint64_t before = sum_;
    for (const NodeId node : nodes) {
      sum_ += raw_weight(tree_.nodes()[node].self, kind_);
    }
    const uint64_t shown = sum_ / unit_ - before / unit_;
    if (shown > 0) {
      out_.append(path_).append(" ").append(std::to_string(shown)).append("\n");
    }
  }

  const FlameTree& tree_;
  WeightKind kind_;
  uint64_t unit_;
  std::vector<uint32_t> first_child_;  // by node, into children_; one more at the end
  std::vector<NodeId> children_;
  std::vector<Step> pending_;  // the next one last
  std::string path_;
  std::string out_;
  uint64_t sum_ = 0;  // of all weights up to the line
};

}  // namespace

std::string folded(const FlameTree& tree, const WeightChoice& weight) {
  return Folder(tree, weight).run();
}

}  // namespace gpuprof::output
