#include "output/folded.h"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <deque>
#include <numeric>
#include <span>
#include <string_view>
#include <vector>

#include "base/text/append_number.h"
#include "base/text/numbers.h"
#include "base/text/utf8.h"

namespace gpuprof::output {
namespace {

using analyze::FlameTree;
using analyze::FrameClass;
using analyze::LabelId;
using analyze::NodeId;

std::string_view suffix_of(FrameClass cls) {
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

bool is_control(char c) {
  return static_cast<unsigned char>(c) < 0x20 || c == 0x7F;
}

// Caches the text of each label, and its rank in the sort order, so that two frames are compared by two numbers.
class Labels {
 public:
  explicit Labels(const FlameTree& tree) : texts_(tree.label_count()), ranks_(2 * tree.label_count()) {
    for (uint32_t i = 0; i < texts_.size(); ++i) {
      set_text(tree, LabelId{i});
    }
    std::vector<uint32_t> order(ranks_.size());  // indexes into ranks_, which are sorted by the texts
    std::iota(order.begin(), order.end(), 0U);
    std::sort(order.begin(), order.end(), [this](uint32_t a, uint32_t b) { return compare(a, b) < 0; });
    uint32_t rank = 0;
    for (size_t i = 0; i < order.size(); ++i) {
      rank += i > 0 && compare(order[i - 1], order[i]) != 0 ? 1 : 0;
      ranks_[order[i]] = rank;
    }
  }

  // Returns the rank of a frame in the bytewise order of output lines: "a" before "a b" before "a;b". `deeper` means
  // that a callee follows in the line, so the frame sorts as its text plus ';'. Labels with equal texts have equal
  // ranks, even if their FrameClass differs.
  [[nodiscard]] uint32_t rank(LabelId label, bool deeper) const { return ranks_[2 * index(label) + (deeper ? 1 : 0)]; }

  [[nodiscard]] size_t size(LabelId label) const { return texts_[index(label)].size(); }
  template <typename Text>  // std::string or TextStream
  void append(LabelId label, Text& out) const {
    out.append(texts_[index(label)].text);
    out.append(texts_[index(label)].suffix);
  }

 private:
  struct Shown {
    std::string_view text;
    std::string_view suffix;
    [[nodiscard]] size_t size() const { return text.size() + suffix.size(); }
    [[nodiscard]] char at(size_t i) const { return i < text.size() ? text[i] : suffix[i - text.size()]; }
  };

  static uint32_t index(LabelId id) { return static_cast<uint32_t>(id); }

  // Stores a copy of a name only if it must be changed for output, because most names need no change.
  void set_text(const FlameTree& tree, LabelId id) {
    Shown& shown = texts_[index(id)];
    const std::string_view name = tree.name(id);
    std::string text = folded_name(name);
    shown.text = name.empty()   ? "[unknown]"
                 : text == name ? name
                                : std::string_view(own_.emplace_back(std::move(text)));
    const std::string_view suffix = suffix_of(tree.label(id).cls);
    shown.suffix = shown.text.ends_with(suffix) ? std::string_view() : suffix;
  }

  // Compares two texts. A frame with another frame below it counts as its text plus ';'.
  [[nodiscard]] int compare(uint32_t a, uint32_t b) const {
    const Shown& x = texts_[a / 2];
    const Shown& y = texts_[b / 2];
    const size_t common = std::min(x.size(), y.size());
    size_t at = std::min(x.text.size(), y.text.size());
    if (const int order = x.text.data() == y.text.data() ? 0 : std::memcmp(x.text.data(), y.text.data(), at);
        order != 0) {
      return order;
    }
    const auto next = [&at](const Shown& shown, bool deeper) -> int {
      return at < shown.size() ? static_cast<unsigned char>(shown.at(at)) : deeper ? ';' : -1;
    };
    while (at < common && x.at(at) == y.at(at)) {
      ++at;
    }
    return next(x, a % 2 != 0) - next(y, b % 2 != 0);
  }

  std::vector<Shown> texts_;
  std::deque<std::string> own_;
  std::vector<uint32_t> ranks_;  // two per label: the rank as the last frame of a line, and the rank before a callee
};

// The frames of the current line, outermost first. Short prefixes are cached as text, because many lines share them.
class Path {
 public:
  explicit Path(const Labels& labels) : labels_(labels) {}

  [[nodiscard]] size_t depth() const { return frames_.size(); }
  void cut(size_t depth) {
    frames_.resize(depth);
    if (ends_.size() > depth) {
      ends_.resize(depth);
      text_.resize(depth == 0 ? 0 : ends_.back());
    }
  }
  void push(LabelId label) {
    if (ends_.size() == frames_.size() && text_.size() + labels_.size(label) < kKept) {
      text_.append(";", text_.empty() ? 0 : 1);
      labels_.append(label, text_);
      ends_.push_back(text_.size());
    }
    frames_.push_back(label);
  }
  void write(TextStream& out) const {
    out.append(text_);
    for (size_t i = ends_.size(); i < frames_.size() && !out.failed(); ++i) {
      out.append(i == 0 ? "" : ";");
      labels_.append(frames_[i], out);
    }
  }

 private:
  static constexpr size_t kKept = size_t{1} << 16U;

  const Labels& labels_;
  std::vector<LabelId> frames_;
  std::string text_;          // cached text of the outermost frames, as many as ends_ has elements
  std::vector<size_t> ends_;  // for each cached frame, the length of text_ up to the end of that frame
};

// Writes the lines in the bytewise order of their paths. Stores no path per line, so memory grows only with the tree.
class Folder {
 public:
  Folder(const FlameTree& tree, const WeightChoice& weight, TextStream& out)
      : tree_(tree),
        kind_(weight.kind),
        unit_(weight.kind == WeightKind::time && weight.unit == TimeUnit::us ? 1000 : 1),
        labels_(tree),
        path_(labels_),
        out_(out) {
    index_children();
  }

  TooShort run() {
    std::vector<Step> group{{.node = FlameTree::kRoot}};
    open(group);
    while (!pending_.empty() && !out_.failed()) {
      const Step step = pending_.back();
      group.clear();
      while (!pending_.empty() && pending_.back().depth == step.depth && pending_.back().rank == step.rank) {
        group.push_back(pending_.back());
        pending_.pop_back();
      }
      path_.cut(step.depth);
      path_.push(frames(step)[step.frame]);
      if (!step.deeper) {
        put_line(group);
        continue;
      }
      if (group.size() == 1) {
        go_to_end(group[0]);
      }
      open(group);
    }
    return too_short_;
  }

 private:
  // A pending task for one frame of a tree node. If `deeper` is set, the task is to process the frame's callees;
  // otherwise, to write the frame's own line. Steps with equal depth and rank have equal texts, so they become one
  // line.
  struct Step {
    NodeId node = FlameTree::kRoot;
    uint32_t frame = 0;  // index of the frame within the node
    uint32_t depth = 0;  // number of frames before `frame` in the path
    uint32_t rank = 0;
    bool deeper = false;
  };

  [[nodiscard]] std::span<const LabelId> frames(const Step& step) const {
    return tree_.frames(tree_.nodes()[step.node]);
  }

  // Builds one array of children, in which the children of each node are adjacent.
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

  // Appends the node's remaining frames to the path, and writes the line of the last frame. Only the last frame of a
  // node has a line. Requires that no other step has the same text.
  void go_to_end(Step& step) {
    const std::span<const LabelId> all = frames(step);
    if (step.frame + 1 == all.size()) {
      return;
    }
    while (step.frame + 1 < all.size()) {
      path_.push(all[++step.frame]);
    }
    put_line({&step, 1});
  }

  // Adds the next steps below each step of `group`.
  void open(std::span<const Step> group) {
    const size_t first = pending_.size();
    for (const Step& step : group) {
      if (step.frame + 1 < frames(step).size()) {
        plan(step.node, step.frame + 1);
        continue;
      }
      for (uint32_t i = first_child_[step.node]; i < first_child_[step.node + 1]; ++i) {
        plan(children_[i], 0);
      }
    }
    std::sort(pending_.begin() + static_cast<std::ptrdiff_t>(first), pending_.end(),
              [](const Step& a, const Step& b) { return a.rank > b.rank; });
  }

  void plan(NodeId id, uint32_t frame) {
    const FlameTree::Node& node = tree_.nodes()[id];
    const LabelId label = tree_.frames(node)[frame];
    const auto depth = static_cast<uint32_t>(path_.depth());
    const bool ends = frame + 1 == node.run.size;
    if (ends && raw_weight(tree_.self(node), kind_) != 0) {
      pending_.push_back({id, frame, depth, labels_.rank(label, false), false});
    }
    if (!ends || first_child_[id] != first_child_[id + 1]) {
      pending_.push_back({id, frame, depth, labels_.rank(label, true), true});
    }
  }

  void put_line(std::span<const Step> group) {
    uint64_t raw = 0;
    for (const Step& step : group) {
      raw += raw_weight(tree_.self(tree_.nodes()[step.node]), kind_);
    }
    const uint64_t shown = rounded_weight(raw, unit_);
    if (shown == 0) {
      too_short_.stacks += raw > 0 ? 1 : 0;  // go_to_end() also comes here for frames without an own weight
      too_short_.ns += raw;
      return;
    }
    path_.write(out_);
    std::string& text = out_.text();
    text += ' ';
    append_number(shown, text);
    text += '\n';
    out_.checkpoint();
  }

  const FlameTree& tree_;
  WeightKind kind_;
  uint64_t unit_;
  Labels labels_;
  Path path_;
  // Indexed by node: index of its first child in children_; one more element marks the end.
  std::vector<uint32_t> first_child_;
  std::vector<NodeId> children_;
  std::vector<Step> pending_;  // a stack: the last element is the next step
  TextStream& out_;
  TooShort too_short_;
};

}  // namespace

std::string folded_name(std::string_view name) {
  std::string plain(name);
  for (char& c : plain) {
    if (c == ';') {
      c = ':';
    } else if (is_control(c)) {
      c = ' ';
    }
  }
  std::string text;
  append_escaped(plain, {}, text);  // bytes that are not UTF-8 are escaped
  return text;
}

std::string TooShort::text() const {
  return stacks == 0 ? ""
                     : counted_text(stacks, "stack").append(" below 0.5 us ").append(is_or_are(stacks)) +
                           " left out, " + duration_text(ns) + " in total";
}

TooShort write_folded(const FlameTree& tree, const WeightChoice& weight, TextStream& out) {
  return Folder(tree, weight, out).run();
}

std::string folded(const FlameTree& tree, const WeightChoice& weight) {
  return collect_text([&](TextStream& out) { write_folded(tree, weight, out); });
}

}  // namespace gpuprof::output
