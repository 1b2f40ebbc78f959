#include "compare/pairs/line_matcher.h"

#include <algorithm>
#include <cstddef>
#include <string_view>

#include "base/hash.h"
#include "base/saturating_add.h"

namespace gpuprof::compare {
namespace {

constexpr uint32_t kGone = UINT32_MAX;
constexpr std::string_view kMain = "main";

// Returns for each line the new line with which it was matched, or the line itself if it was not matched.
std::vector<uint32_t> redirections(size_t lines, const Pairs& pairs) {
  std::vector<uint32_t> to(lines);
  for (uint32_t at = 0; at < lines; ++at) {
    to[at] = at;
  }
  for (const auto& [old_line, new_line] : pairs) {
    to[old_line] = new_line;
  }
  return to;
}

template <typename Line>
void note_renamed(Line& line, std::string&& old_name, Match match) {
  line.old_name = std::move(old_name);
  line.match = match;
  line.change = Change::renamed;
}

// Sums saturate instead of overflowing, so that the sum of a subset never exceeds the total.
void add_up(uint64_t& to, uint64_t more) {
  to = saturating_add(to, more);
}

// `place` maps the index of a stall reason in `from` to its index in `to`.
template <typename Place>
void add_sums(StallSums& to, const StallSums& from, Place place) {
  add_up(to.samples, from.samples);
  to.whole += from.whole;
  to.blocks += from.blocks;
  for (const auto& [reason, sums] : from.reasons) {
    StallSums::Reason& all = to.reasons[place(reason)];
    add_up(all.samples, sums.samples);
    all.part += sums.part;
    all.squares += sums.squares;
  }
}

}  // namespace

Sides LineMatcher::sides(const std::vector<Cost>& costs) const {
  Sides sums;
  for (size_t run = 0; run < costs.size(); ++run) {
    (run < old_runs_ ? sums.old_sum : sums.new_sum) += costs[run];
  }
  return sums;
}

double LineMatcher::launches(const Sides& sums) const {
  return sums.in_old() ? static_cast<double>(sums.old_sum.count) / static_cast<double>(old_runs_)
                       : static_cast<double>(sums.new_sum.count) / static_cast<double>(runs_ - old_runs_);
}

Candidate LineMatcher::candidate(uint32_t line, const Sides& sums) const {
  const Cost& cost = sums.in_old() ? sums.old_sum : sums.new_sum;
  return {.line = line,
          .count = launches(sums),
          .mean_ns = cost.count == 0 ? 0 : static_cast<double>(cost.ns) / static_cast<double>(cost.count)};
}

void LineMatcher::add(const Run& run, size_t at) {
  std::vector<uint32_t> kernels;
  kernels.reserve(run.kernels.size());
  for (const Kernel& kernel : run.kernels) {
    kernels.push_back(line_of(kernel));
    kernels_[kernels.back()].costs[at] += kernel.cost;
    kernels_[kernels.back()].durations[at < old_runs_ ? 0 : 1].add(kernel.durations);
  }
  add_stalls(run, at < old_runs_ ? 0 : 1, kernels);
  std::vector<uint32_t> functions;
  functions.reserve(run.functions.size());
  for (const Function& function : run.functions) {
    functions.push_back(line_of(function));
    functions_[functions.back()].total[at] += function.total;
    functions_[functions.back()].direct[at] += function.direct;
  }
  std::u32string stack;
  for (const compare::Path& path : run.paths) {
    stack.clear();
    for (const uint32_t function : path.functions) {
      stack.push_back(functions[function]);
    }
    path_of(kernels[path.kernel], stack_of(stack)).costs[at] += path.cost;
  }
}

// `kernels` gives the index of the kernel line for each kernel of the run.
void LineMatcher::add_stalls(const Run& run, size_t side, const std::vector<uint32_t>& kernels) {
  std::vector<uint32_t> reasons;
  reasons.reserve(run.stall_reasons.size());
  for (const std::string& reason : run.stall_reasons) {
    const auto [known, is_new] = stall_ids_.try_emplace(reason, static_cast<uint32_t>(stall_reasons_.size()));
    if (is_new) {
      stall_reasons_.push_back(reason);
    }
    reasons.push_back(known->second);
  }
  for (size_t at = 0; at < kernels.size(); ++at) {
    add_sums(kernels_[kernels[at]].stalls[side], run.kernels[at].stalls,
             [&](uint32_t reason) { return reasons[reason]; });
  }
}

uint32_t LineMatcher::line_of(const Kernel& kernel) {
  const auto [known, is_new] = kernel_ids_.try_emplace(kernel.name, static_cast<uint32_t>(kernels_.size()));
  if (is_new) {
    kernels_.push_back({.name = kernel.name, .costs = std::vector<Cost>(runs_)});
  }
  return known->second;
}

uint32_t LineMatcher::line_of(const Function& function) {
  std::string key = std::to_string(function.name.size()).append(" ").append(function.name).append(function.file);
  const auto [known, is_new] = function_ids_.try_emplace(std::move(key), static_cast<uint32_t>(functions_.size()));
  if (is_new) {
    functions_.push_back({.name = function.name,
                          .file = function.file,
                          .note = function.note,
                          .origin = function.origin,
                          .total = std::vector<Cost>(runs_),
                          .direct = std::vector<Cost>(runs_)});
  }
  return known->second;
}

uint32_t LineMatcher::stack_of(std::u32string functions) {
  const auto [known, is_new] = stack_ids_.try_emplace(std::move(functions), static_cast<uint32_t>(stacks_.size()));
  if (is_new) {
    stacks_.push_back(&known->first);
  }
  return known->second;
}

LineMatcher::Path& LineMatcher::path_of(uint32_t kernel, uint32_t stack) {
  const auto [known, is_new] = path_ids_.try_emplace(join_ids(kernel, stack), static_cast<uint32_t>(paths_.size()));
  if (is_new) {
    paths_.push_back({.kernel = kernel, .stack = stack, .old_stack = stack, .costs = std::vector<Cost>(runs_)});
  }
  return paths_[known->second];
}

void LineMatcher::add_costs(std::vector<Cost>& costs, const std::vector<Cost>& more) const {
  for (size_t run = 0; run < runs_; ++run) {
    costs[run] += more[run];
  }
}

void LineMatcher::join(const Pairs& kernels, const Pairs& functions, Match match) {
  if (kernels.empty() && functions.empty()) {
    return;
  }
  for (const auto& [old_line, new_line] : kernels) {
    add_costs(kernels_[new_line].costs, std::exchange(kernels_[old_line].costs, std::vector<Cost>(runs_)));
    for (size_t side = 0; side < 2; ++side) {
      kernels_[new_line].durations[side].add(std::exchange(kernels_[old_line].durations[side], {}));
      add_sums(kernels_[new_line].stalls[side], std::exchange(kernels_[old_line].stalls[side], {}),
               [](uint32_t reason) { return reason; });
    }
    note_renamed(kernels_[new_line], std::move(kernels_[old_line].name), match);
  }
  for (const auto& [old_line, new_line] : functions) {
    add_costs(functions_[new_line].total, std::exchange(functions_[old_line].total, std::vector<Cost>(runs_)));
    add_costs(functions_[new_line].direct, std::exchange(functions_[old_line].direct, std::vector<Cost>(runs_)));
    note_renamed(functions_[new_line], std::move(functions_[old_line].name), match);
  }
  const std::vector<uint32_t> kernel_to = redirections(kernels_.size(), kernels);
  const std::vector<uint32_t> function_to = redirections(functions_.size(), functions);
  const std::vector<const std::u32string*> old_stacks = std::move(stacks_);
  const auto old_texts = std::exchange(stack_ids_, {});  // owns the stacks that old_stacks points to
  std::vector<Path> old_paths = std::exchange(paths_, {});
  stacks_.clear();
  path_ids_.clear();
  std::vector<uint32_t> stack_to;
  stack_to.reserve(old_stacks.size());
  for (const std::u32string* stack : old_stacks) {
    std::u32string functions_now = *stack;
    for (char32_t& function : functions_now) {
      function = function_to[function];
    }
    stack_to.push_back(stack_of(std::move(functions_now)));
  }
  for (const Path& path : old_paths) {
    add_costs(path_of(kernel_to[path.kernel], stack_to[path.stack]).costs, path.costs);
  }
}

void LineMatcher::join_paths(const Pairs& paths) {
  for (const auto& [old_line, new_line] : paths) {
    Path& path = paths_[new_line];
    add_costs(path.costs, std::exchange(paths_[old_line].costs, std::vector<Cost>(runs_)));
    path.old_stack = paths_[old_line].stack;
    path.match = Match::assigned;
  }
}

template <typename Line>
void LineMatcher::set_change(Line& line, const std::vector<Cost>& costs) const {
  const Sides sums = sides(costs);
  if (sums.in_old() != sums.in_new()) {
    line.match = Match::none;
    line.change = sums.in_new() ? Change::appeared : Change::gone;
  }
}

PathLine LineMatcher::line_of(Path& path, const std::vector<uint32_t>& kernel_lines,
                              const std::vector<uint32_t>& function_lines) const {
  PathLine line{.kernel = kernel_lines[path.kernel], .match = path.match, .costs = std::move(path.costs)};
  const auto weaken = [&line](Match match, Change change) {
    line.match = change == Change::renamed ? std::max(line.match, match) : line.match;
    line.change = change == Change::renamed ? Change::renamed : line.change;
  };
  for (const char32_t function : stack(path.stack)) {
    line.functions.push_back(function_lines[function]);
    weaken(functions_[function].match, functions_[function].change);
  }
  if (path.old_stack != path.stack) {
    line.change = Change::renamed;
    for (const char32_t function : stack(path.old_stack)) {
      line.old_functions.push_back(function_lines[function]);
    }
  }
  weaken(kernels_[path.kernel].match, kernels_[path.kernel].change);
  set_change(line, line.costs);
  return line;
}

void LineMatcher::finish(Comparison& all) {
  all.stall_reasons = std::move(stall_reasons_);
  // Finish the paths before kernels_ and functions_ are moved, because line_of() changes elements of both.
  std::vector<uint32_t> kernel_lines(kernels_.size(), kGone);
  std::vector<uint32_t> function_lines(functions_.size(), kGone);
  const auto used = [this](const std::vector<Cost>& costs) {
    const Sides sums = sides(costs);
    return sums.in_old() || sums.in_new();
  };
  uint32_t next = 0;
  for (size_t at = 0; at < kernels_.size(); ++at) {
    kernel_lines[at] = used(kernels_[at].costs) ? next++ : kGone;
  }
  next = 0;
  for (size_t at = 0; at < functions_.size(); ++at) {
    function_lines[at] = used(functions_[at].total) ? next++ : kGone;
  }
  for (Path& path : paths_) {
    if (used(path.costs)) {
      all.paths.push_back(line_of(path, kernel_lines, function_lines));
    }
  }
  for (KernelLine& line : kernels_) {
    if (used(line.costs)) {
      set_change(line, line.costs);
      all.kernels.push_back(std::move(line));
    }
  }
  for (FunctionLine& line : functions_) {
    if (used(line.total)) {
      set_change(line, line.total);
      all.functions.push_back(std::move(line));
    }
  }
}

SharedFunctions::SharedFunctions(const LineMatcher& lines) {
  std::vector<bool> shared;
  shared.reserve(lines.functions().size());
  for (const FunctionLine& line : lines.functions()) {
    const Sides sums = lines.sides(line.total);
    shared.push_back(sums.in_old() && sums.in_new());
  }
  std::unordered_map<std::u32string, uint32_t> known;
  std::u32string left;
  for (uint32_t id = 0; id < lines.stack_count(); ++id) {
    const std::u32string& stack = lines.stack(id);
    left.clear();
    std::copy_if(stack.begin(), stack.end(), std::back_inserter(left), [&](char32_t f) { return shared[f]; });
    ids_.push_back(known.try_emplace(left, static_cast<uint32_t>(known.size())).first->second);
    placed_.push_back(!left.empty() && 2 * left.size() >= stack.size());
    bool same = false;
    bool own = false;
    bool other = false;
    for (const char32_t f : stack) {
      const FunctionLine& function = lines.functions()[f];
      const bool is_own = !function.note && function.origin == analyze::Origin::own;
      same = same || (!function.note && shared[f]);
      own = own || (is_own && function.name != kMain);
      other = other || (is_own && !shared[f]);
    }
    same_code_.push_back(same && !other);
    own_code_.push_back(own);
  }
}

}  // namespace gpuprof::compare
