#include "analyze/paths/functions.h"

#include <algorithm>
#include <array>
#include <span>
#include <utility>

namespace gpuprof::analyze {
namespace {

namespace p = gpuprof::profile;

// Builds a FunctionTable. Reduces each stack to its functions only once, because a stack has far more frames than
// functions, and may belong to many launches: a graph's launch stack occurs with each of its nodes.
class Functions {
 public:
  Functions(StackView& view, const LaunchSums& launches) : view_(view), launches_(launches) {}

  FunctionTable make() {
    // Examine all stacks before adding launches, because even the last stack may show that a function is the program's
    // own (Origin::own).
    for (const LaunchSums::Launch& launch : launches_.all()) {
      for (const auto& [kernel, id] : stacks_of(launch)) {
        look_at(kernel, id);
      }
    }
    last_launch_.resize(table_.lines.size());
    for (const LaunchSums::Launch& launch : launches_.all()) {
      add(launch);
    }
    for (const auto& [function, line] : lines_) {
      const StackView::FunctionText text = view_.function_text(function);
      table_.lines[line].name = text.name;
      table_.lines[line].file = text.file;
    }
    return std::move(table_);
  }

 private:
  struct Run {
    size_t begin = 0;
    size_t size = 0;
  };

  // Returns the stacks outermost first: the stacks of the launch, then the stack of a graph node's capture.
  static std::array<std::pair<bool, p::StackId>, 3> stacks_of(const LaunchSums::Launch& launch) {
    return {{{false, launch.site.ustack}, {true, launch.site.kstack}, {false, launch.site.capture}}};
  }

  void look_at(bool kernel, p::StackId id) {
    if (index(id) == 0) {
      return;
    }
    const auto [known, is_new] = runs_.try_emplace(join_ids(kernel ? 1 : 0, index(id)));
    if (!is_new) {
      return;
    }
    const std::span<const uint32_t> frames = view_.frames(kernel, id);
    table_.steps += frames.size();
    for (const uint32_t frame : frames) {
      if (is_function(frame)) {
        const uint32_t line = line_of(frame);  // a new function gets a line here, after its callers
        table_.lines[line].origin = std::min(table_.lines[line].origin, view_.origin(frame));
      }
    }
    // Store each function of the stack once, even with recursion, at its innermost frame.
    ++stack_;
    known->second.begin = functions_.size();
    for (auto frame = frames.rbegin(); frame != frames.rend(); ++frame) {
      if (is_function(*frame)) {
        const uint32_t line = line_of(*frame);
        if (std::exchange(last_stack_[line], stack_) != stack_) {
          functions_.push_back(line);
        }
      }
    }
    std::reverse(functions_.begin() + static_cast<std::ptrdiff_t>(known->second.begin), functions_.end());
    known->second.size = functions_.size() - known->second.begin;
  }

  void add(const LaunchSums::Launch& launch) {
    ++launch_;
    const uint64_t number = hash_of(launch_ ^ seed_);
    Launcher launcher;
    for (const auto& [kernel, id] : stacks_of(launch)) {
      const auto run = runs_.find(join_ids(kernel ? 1 : 0, index(id)));
      if (run == runs_.end()) {
        continue;
      }
      table_.steps += run->second.size;
      for (const uint32_t at : std::span(functions_).subspan(run->second.begin, run->second.size)) {
        FunctionLine& line = table_.lines[at];
        launcher.add(at, line.origin);
        if (std::exchange(last_launch_[at], launch_) != launch_) {
          line.total += launch.weight;
          line.uncertainty += launch.uncertainty;
          line.paths += number;
        }
      }
    }
    if (launcher.function()) {
      table_.lines[*launcher.function()].direct += launch.weight;
      table_.with_stack += launch.weight;
    }
  }

  [[nodiscard]] bool is_function(uint32_t frame) const {
    const FrameClass cls = view_.frame_class(frame);
    return cls != FrameClass::note && cls != FrameClass::mark;
  }

  uint32_t line_of(uint32_t frame) {
    const auto [known, is_new] = lines_.try_emplace(view_.function(frame), static_cast<uint32_t>(table_.lines.size()));
    if (is_new) {
      table_.lines.emplace_back();
      last_stack_.push_back(0);
    }
    return known->second;
  }

  StackView& view_;
  const LaunchSums& launches_;
  FunctionTable table_;
  std::unordered_map<uint32_t, uint32_t> lines_;  // key: result of StackView::function()
  std::unordered_map<uint64_t, Run> runs_;        // key: stack id; the upper half of the key is 1 for kernel stacks
  std::vector<uint32_t> functions_;               // line indexes for all stacks
  // Indexed by line of the table: the last stack that contains the line's function.
  std::vector<uint64_t> last_stack_;
  // Indexed by line of the table: the last launch that was added to the line.
  std::vector<uint64_t> last_launch_;
  uint64_t stack_ = 0;
  uint64_t launch_ = 0;
  const uint64_t seed_ = random_seed();
};

// Returns the index of the line that represents a chain of functions. `chain` holds the callers first.
size_t chosen(const std::vector<FunctionLine>& lines, std::span<const size_t> chain) {
  const auto is = [&lines](Origin origin) {
    return [&lines, origin](size_t at) { return lines[at].origin == origin; };
  };
  const auto own = std::find_if(chain.rbegin(), chain.rend(), is(Origin::own));
  if (own != chain.rend()) {
    return *own;
  }
  const bool launches =
      std::any_of(chain.begin(), chain.end(), [&lines](size_t at) { return lines[at].direct.count > 0; });
  const auto native = std::find_if(chain.begin(), chain.end(), [&lines](size_t at) {
    return lines[at].origin == Origin::library && lines[at].file.empty();
  });
  const auto innermost = std::find_if(chain.rbegin(), chain.rend(), is(Origin::library));
  return innermost == chain.rend() ? chain.back() : launches && native != chain.end() ? *native : *innermost;
}

}  // namespace

LaunchSums::Launch& LaunchSums::add(const p::Work& work, const Weight& weight) {
  const LaunchSite site = stacks_of(work);
  const auto [known, is_new] = positions_.try_emplace(site, static_cast<uint32_t>(launches_.size()));
  if (is_new) {
    launches_.push_back({.site = site});
  }
  Launch& launch = launches_[known->second];
  launch.weight += weight;
  return launch;
}

FunctionTable function_table(const LaunchSums& launches, StackView& view) {
  return Functions(view, launches).make();
}

void join_chains(std::vector<FunctionLine>& lines) {
  std::unordered_map<uint64_t, std::vector<size_t>> chains;  // key: FunctionLine::paths
  for (size_t at = 0; at < lines.size(); ++at) {
    chains[lines[at].paths].push_back(at);
  }
  std::vector<FunctionLine> joined;
  for (size_t at = 0; at < lines.size(); ++at) {
    const std::vector<size_t>& chain = chains[lines[at].paths];
    if (chain.front() != at) {
      continue;
    }
    FunctionLine& line = joined.emplace_back(lines[chosen(lines, chain)]);
    line.direct = {};
    for (const size_t member : chain) {
      line.direct += lines[member].direct;
    }
    line.others = chain.size() - 1;
  }
  lines = std::move(joined);
}

}  // namespace gpuprof::analyze
