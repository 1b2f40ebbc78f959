#include "analyze/functions.h"

#include <algorithm>
#include <optional>
#include <utility>

namespace gpuprof::analyze {
namespace {

namespace p = gpuprof::profile;

class Functions {
 public:
  explicit Functions(StackView& view) : view_(view) {}

  void add(const LaunchSums::Launch& launch) {
    ++launch_;
    launcher_.reset();
    innermost_.reset();
    // Root first, so the last one that fits is the innermost: a node's capture lies below the launch of its graph.
    add_stack(false, launch.stacks.ustack, launch.weight);
    add_stack(true, launch.stacks.kstack, launch.weight);
    add_stack(false, launch.stacks.capture, launch.weight);
    if (innermost_) {
      table_.lines[launcher_.value_or(*innermost_)].direct += launch.weight;
      table_.with_stack += launch.weight;
    }
  }

  FunctionTable finish() {
    for (const auto& [function, line] : lines_) {
      const StackView::FunctionText text = view_.function_text(function);
      table_.lines[line].name = text.name;
      table_.lines[line].file = text.file;
    }
    return std::move(table_);
  }

 private:
  void add_stack(bool kernel, p::StackId id, const Weight& weight) {
    if (index(id) == 0) {
      return;
    }
    for (const uint32_t frame : view_.frames(kernel, id)) {
      const FrameClass cls = view_.frame_class(frame);
      if (cls == FrameClass::note || cls == FrameClass::mark) {
        continue;
      }
      const auto [known, is_new] =
          lines_.try_emplace(view_.function(frame), static_cast<uint32_t>(table_.lines.size()));
      if (is_new) {
        table_.lines.emplace_back();
        last_launch_.push_back(0);
      }
      FunctionLine& line = table_.lines[known->second];
      line.origin = std::min(line.origin, view_.origin(frame));
      if (last_launch_[known->second] != launch_) {
        last_launch_[known->second] = launch_;
        line.total += weight;
      }
      innermost_ = known->second;
      if (line.origin <= Origin::library) {
        launcher_ = known->second;
      }
    }
  }

  StackView& view_;
  FunctionTable table_;
  std::unordered_map<uint32_t, uint32_t> lines_;  // by function of the view
  std::vector<uint64_t> last_launch_;             // that a line was counted for
  uint64_t launch_ = 0;
  std::optional<uint32_t> launcher_;
  std::optional<uint32_t> innermost_;
};

}  // namespace

size_t LaunchSums::Hash::operator()(const Stacks& stacks) const {
  const uint64_t launch = fold_multiply(join_ids(index(stacks.ustack), index(stacks.kstack)) ^ seed, kHashMultiplier);
  return fold_multiply(launch ^ index(stacks.capture), kHashMultiplier);
}

void LaunchSums::add(const p::Work& work, const Weight& weight) {
  const Stacks stacks{.ustack = work.ustack, .kstack = work.kstack, .capture = work.capture};
  const auto [known, is_new] = positions_.try_emplace(stacks, static_cast<uint32_t>(launches_.size()));
  if (is_new) {
    launches_.push_back({.stacks = stacks});
  }
  launches_[known->second].weight += weight;
}

FunctionTable function_table(const LaunchSums& launches, StackView& view) {
  Functions functions(view);
  for (const LaunchSums::Launch& launch : launches.all()) {
    functions.add(launch);
  }
  return functions.finish();
}

}  // namespace gpuprof::analyze
