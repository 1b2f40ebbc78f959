#include "output/compare/diff_lines.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <map>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "base/clock.h"
#include "base/text/numbers.h"
#include "base/text/utf8.h"
#include "output/text.h"
#include "output/weight.h"

namespace gpuprof::output {
namespace {

using compare::Change;
using compare::Comparison;
using compare::Cost;
using compare::Difference;
using compare::PathLine;
using compare::RunFacts;

uint64_t size_of(int64_t change) {
  return change < 0 ? static_cast<uint64_t>(-change) : static_cast<uint64_t>(change);
}

// The sums saturate, because those of a hostile profile may overflow.
int64_t sum_of(int64_t a, int64_t b) {
  int64_t sum = 0;
  return __builtin_add_overflow(a, b, &sum) ? (a < 0 ? -INT64_MAX : INT64_MAX) : sum;
}

// Sorts by change, then by weight, largest first. Lines that are equal in both stay in the order of the comparison.
void sort_lines(std::vector<DiffLine>& lines) {
  std::stable_sort(lines.begin(), lines.end(), [](const DiffLine& a, const DiffLine& b) {
    const uint64_t x = size_of(a.difference.change);
    const uint64_t y = size_of(b.difference.change);
    return x != y ? x > y : a.difference.after.value > b.difference.after.value;
  });
}

template <typename Lines, typename CostsOf>
std::vector<DiffLine> all_lines(const Lines& lines, const Comparison& all, bool timed, CostsOf costs_of) {
  std::vector<DiffLine> result;
  result.reserve(lines.size());
  for (uint32_t at = 0; at < lines.size(); ++at) {
    result.push_back({at, compare::difference_of(costs_of(lines[at]), all.old_runs, timed)});
  }
  sort_lines(result);
  return result;
}

// Selects the paths that pass the filter, and sums the cost of their kernels and functions.
class Filtered {
 public:
  Filtered(const Comparison& all, const DiffFilter& filter) : all_(all), filter_(filter), totals_(all.runs.size()) {
    for (uint32_t at = 0; at < all.paths.size(); ++at) {
      if (passes(all.paths[at])) {
        add(at);
      }
    }
  }

  void fill(DiffLines& lines) const {
    lines.filtered = true;
    lines.total = compare::difference_of(totals_, all_.old_runs, lines.timed);
    const auto put = [&](const std::map<uint32_t, std::vector<Cost>>& from, std::vector<DiffLine>& to) {
      for (const auto& [line, costs] : from) {
        to.push_back({line, compare::difference_of(costs, all_.old_runs, lines.timed)});
      }
      sort_lines(to);
    };
    put(kernels_, lines.kernels);
    put(functions_, lines.functions);
    for (const uint32_t at : paths_) {
      lines.paths.push_back({at, compare::difference_of(all_.paths[at].costs, all_.old_runs, lines.timed)});
    }
    sort_lines(lines.paths);
  }

 private:
  bool passes(const PathLine& path) {
    if (filter_.kernel && !known(kernel_passes_, path.kernel, [&] {
          const compare::KernelLine& kernel = all_.kernels[path.kernel];
          return filter_.kernel->matches(kernel.name) ||
                 (!kernel.old_name.empty() && filter_.kernel->matches(kernel.old_name));
        })) {
      return false;
    }
    return !filter_.path ||
           std::any_of(path.functions.begin(), path.functions.end(), [&](uint32_t id) { return passes(id); }) ||
           std::any_of(path.old_functions.begin(), path.old_functions.end(), [&](uint32_t id) { return passes(id); });
  }

  bool passes(uint32_t function) {
    return known(function_passes_, function, [&] {
      const compare::FunctionLine& line = all_.functions[function];
      return filter_.path->matches(function_text(line)) ||
             (!line.old_name.empty() && filter_.path->matches(line.old_name));
    });
  }

  template <typename Find>
  static bool known(std::unordered_map<uint32_t, bool>& answers, uint32_t id, Find find) {
    const auto [answer, is_new] = answers.try_emplace(id, false);
    if (is_new) {
      answer->second = find();
    }
    return answer->second;
  }

  void add_to(std::vector<Cost>& sum, const std::vector<Cost>& costs) const {
    sum.resize(all_.runs.size());
    for (size_t run = 0; run < costs.size(); ++run) {
      sum[run] += costs[run];
    }
  }

  void add(uint32_t at) {
    const PathLine& path = all_.paths[at];
    paths_.push_back(at);
    add_to(totals_, path.costs);
    add_to(kernels_[path.kernel], path.costs);
    std::vector<uint32_t> functions = path.functions;
    functions.insert(functions.end(), path.old_functions.begin(), path.old_functions.end());
    std::sort(functions.begin(), functions.end());
    functions.erase(std::unique(functions.begin(), functions.end()), functions.end());
    for (const uint32_t function : functions) {
      add_to(functions_[function], path.costs);
    }
  }

  const Comparison& all_;
  const DiffFilter& filter_;
  std::vector<Cost> totals_;
  std::vector<uint32_t> paths_;
  std::map<uint32_t, std::vector<Cost>> kernels_;
  std::map<uint32_t, std::vector<Cost>> functions_;
  std::unordered_map<uint32_t, bool> kernel_passes_;
  std::unordered_map<uint32_t, bool> function_passes_;
};

// Returns when the run was recorded, such as "2026-11-23 14:45" in UTC, from META. Returns "" if META does not say it.
std::string date_of(const RunFacts& run) {
  const auto found = run.info.meta.find("start_unix_ns");
  if (found == run.info.meta.end()) {
    return {};
  }
  const auto seconds = static_cast<std::time_t>(std::strtoull(found->second.c_str(), nullptr, 10) / 1'000'000'000);
  return utc_text(seconds, "%Y-%m-%d %H:%M");
}

// Matches the functions that launch kernels: "cudaLaunchKernel", "cuLaunchKernel", "clEnqueueNDRangeKernel".
bool is_launch_call(std::string_view name) {
  const auto is_call = [name](std::string_view prefix) {
    return name.size() > prefix.size() && name.starts_with(prefix) && name[prefix.size()] >= 'A' &&
           name[prefix.size()] <= 'Z';
  };
  return is_call("cuda") || is_call("cu") || is_call("cl") || is_call("hip");
}

// Compares the new paths of a kernel with its gone paths: if code is reorganized, launches get new paths, and may also
// take longer. Without this, the complete time of these paths would count as more and fewer launches.
void compare_new_with_gone(const Comparison& all, std::vector<DiffLine>& paths) {
  struct Gone {
    double ns = 0;
    double count = 0;
  };
  std::vector<Gone> gone(all.kernels.size());
  for (const DiffLine& path : paths) {
    if (const Difference& line = path.difference; line.after.count <= 0) {
      Gone& kernel = gone[all.paths[path.line].kernel];
      kernel.ns += static_cast<double>(line.before.value);
      kernel.count += line.before.count;
    }
  }
  for (DiffLine& path : paths) {
    const Gone& kernel = gone[all.paths[path.line].kernel];
    if (path.difference.before.count <= 0 && kernel.count > 0) {
      compare::compare_new_line(path.difference, kernel.ns / kernel.count);
    }
  }
}

// Splits the changes of kernels, functions and the total as the sums of their paths. The mean duration of all their
// work would mislead: this mean also changes if paths launch in other proportions. With sums, all tables agree.
void sum_by_paths(DiffLines& lines) {
  if (!lines.of_launches()) {
    return;  // each change is completely one of launches
  }
  compare_new_with_gone(lines.all, lines.paths);
  int64_t total = 0;
  std::vector<int64_t> kernels(lines.all.kernels.size(), 0);
  std::vector<int64_t> functions(lines.all.functions.size(), 0);
  // For each function, the last path that was added to it.
  std::vector<uint32_t> seen(lines.all.functions.size(), UINT32_MAX);
  for (const DiffLine& path : lines.paths) {
    const PathLine& known = lines.all.paths[path.line];
    const int64_t by_launches = path.difference.by_launches;
    total = sum_of(total, by_launches);
    kernels[known.kernel] = sum_of(kernels[known.kernel], by_launches);
    for (const auto* both : {&known.functions, &known.old_functions}) {
      for (const uint32_t function : *both) {
        if (std::exchange(seen[function], path.line) != path.line) {
          functions[function] = sum_of(functions[function], by_launches);
        }
      }
    }
  }
  compare::split_change(lines.total, total);
  for (DiffLine& kernel : lines.kernels) {
    compare::split_change(kernel.difference, kernels[kernel.line]);
  }
  for (DiffLine& function : lines.functions) {
    compare::split_change(function.difference, functions[function.line]);
  }
}

template <typename Fact>
std::string joined(std::span<const RunFacts* const> runs, Fact fact) {
  constexpr size_t kMostShown = 3;
  std::vector<std::string> shown;
  for (const RunFacts* run : runs) {
    std::string text = fact(*run);
    if (!text.empty() && std::find(shown.begin(), shown.end(), text) == shown.end()) {
      shown.push_back(std::move(text));
    }
  }
  std::string text;
  for (size_t at = 0; at < std::min(shown.size(), kMostShown); ++at) {
    text.append(at == 0 ? "" : ", ").append(shown[at]);
  }
  return shown.size() > kMostShown ? text + ", ..." : text;
}

}  // namespace

const char* DiffLines::counted() const {
  return all.runs.front()->info.kind == analyze::ProfileKind::stall_samples ? "samples" : "launches";
}

const char* DiffLines::measured() const {
  return timed ? measured_text(measure()) : counted();
}

bool DiffLines::nothing_differs() const {
  const auto same = [](const DiffLine& line) {
    return line.difference.change == 0 && line.difference.before.count == line.difference.after.count;
  };
  return same({0, total}) && std::all_of(kernels.begin(), kernels.end(), same) &&
         std::all_of(paths.begin(), paths.end(), same);
}

DiffLines diff_lines(const Comparison& all, bool timed, const DiffFilter& filter) {
  DiffLines lines{.all = all, .timed = timed, .total = {}, .kernels = {}, .functions = {}, .paths = {}};
  lines.stalls = !filter.path;
  if (filter.kernel || filter.path) {
    Filtered(all, filter).fill(lines);
    sum_by_paths(lines);
    return lines;
  }
  lines.total = compare::difference_of(all.totals, all.old_runs, timed);
  const auto costs = [](const auto& line) -> const std::vector<Cost>& { return line.costs; };
  lines.kernels = all_lines(all.kernels, all, timed, costs);
  lines.functions =
      all_lines(all.functions, all, timed, [](const auto& line) -> const std::vector<Cost>& { return line.total; });
  lines.paths = all_lines(all.paths, all, timed, costs);
  sum_by_paths(lines);
  return lines;
}

std::vector<DiffLine> significant_functions(const DiffLines& lines) {
  std::vector<uint32_t> depth(lines.all.functions.size(), 0);
  for (const DiffLine& path : lines.paths) {
    const auto& functions = lines.all.paths[path.line].functions;
    for (uint32_t at = 0; at < functions.size(); ++at) {
      depth[functions[at]] = std::max(depth[functions[at]], at);
    }
  }
  // The driver's function that launches kernels does not show which code caused the GPU work.
  const auto tells = [&lines](uint32_t at) {
    const compare::FunctionLine& function = lines.all.functions[at];
    return !function.note && !is_launch_call(function.name);
  };
  // Functions that are always in the same stacks have equal costs, so equal numbers identify such functions.
  const auto numbers = [](const Difference& d) {
    return std::tuple(d.before.value, d.after.value, d.before.count, d.after.count, d.by_launches);
  };
  std::map<decltype(numbers(Difference())), uint32_t> innermost;
  for (const DiffLine& function : lines.functions) {
    if (tells(function.line)) {
      const auto [known, is_new] = innermost.try_emplace(numbers(function.difference), function.line);
      known->second = !is_new && depth[function.line] > depth[known->second] ? function.line : known->second;
    }
  }
  std::vector<DiffLine> telling;
  for (const DiffLine& function : lines.functions) {
    const auto known = innermost.find(numbers(function.difference));
    if (known != innermost.end() && known->second == function.line) {
      telling.push_back(function);
    }
  }
  return telling;
}

std::string nothing_text(const DiffLines& lines) {
  const auto renamed =
      static_cast<uint64_t>(std::count_if(lines.kernels.begin(), lines.kernels.end(), [&lines](const DiffLine& line) {
        return lines.all.kernels[line.line].change == Change::renamed;
      }));
  if (renamed == 0) {
    return "Nothing differs.";
  }
  return "Nothing differs but the names of " + counted_text(renamed, "kernel") + ".";
}

uint64_t rounded_count(const compare::SideCost& side) {
  constexpr double kMost = 9.2e18;
  return side.count <= 0 ? 0 : static_cast<uint64_t>(std::llround(std::min(side.count, kMost)));
}

std::string_view change_word(Change change) {
  return change == Change::both ? "" : change == Change::appeared ? "new" : change_name(change);
}

std::string_view change_name(Change change) {
  static constexpr std::array<std::string_view, 5> kNames = {"both", "renamed", "moved", "appeared", "gone"};
  static_assert(static_cast<size_t>(Change::gone) + 1 == kNames.size());
  return kNames.at(static_cast<size_t>(change));
}

std::string_view match_name(compare::Match match) {
  static constexpr std::array<std::string_view, 4> kNames = {"exact", "normalized", "assigned", "none"};
  static_assert(static_cast<size_t>(compare::Match::none) + 1 == kNames.size());
  return kNames.at(static_cast<size_t>(match));
}

std::string kernel_text(std::string_view name, bool full, size_t width) {
  return full ? cut_middle(shown_name(shown_ends(name)), width) : shown_kernel(name, width);
}

std::string old_kernel_text(const compare::KernelLine& line, bool full, size_t width) {
  const bool alike = kernel_text(line.name, full, width) == kernel_text(line.old_name, full, width);
  return kernel_text(line.old_name, full || alike, width);
}

std::string function_text(const compare::FunctionLine& function) {
  return function.file.empty() ? function.name : function.name + " (" + function.file + ")";
}

std::string value_text(uint64_t value, bool timed) {
  return timed ? duration_text(value) : count_text(value);
}

std::string signed_value(int64_t value, bool timed) {
  return (value > 0 ? "+" : value < 0 ? "-" : "") + value_text(size_of(value), timed);
}

std::string change_percent(const Difference& difference) {
  if (difference.before.value == 0 || difference.after.value == 0) {
    return difference.after.value != 0 ? "new" : difference.before.value != 0 ? "gone" : "";
  }
  const double percent = difference.percent();
  char text[32];
  std::snprintf(text, sizeof text, std::abs(percent) < 1000 ? "%+.1f%%" : "%+.0f%%", percent);
  return std::abs(percent) >= 1e6 ? ">+1000000%" : text;
}

std::string joined_fact(std::span<const RunFacts* const> runs, std::string RunFacts::*fact) {
  return joined(runs, [fact](const RunFacts& run) { return run.*fact; });
}

std::string joined_devices(std::span<const RunFacts* const> runs) {
  return joined(runs, [](const RunFacts& run) {
    std::map<std::string, size_t> devices;
    for (const std::string& device : run.devices) {
      ++devices[device];
    }
    std::string text;
    for (const auto& [name, count] : devices) {
      text.append(text.empty() ? "" : " + ").append(count > 1 ? std::to_string(count) + " x " : "").append(name);
    }
    return text;
  });
}

std::string joined_dates(std::span<const RunFacts* const> runs) {
  return joined(runs, date_of);
}

std::span<const RunFacts* const> side_of(const Comparison& all, bool old_side) {
  const std::span<const RunFacts* const> runs(all.runs);
  return old_side ? runs.first(all.old_runs) : runs.subspan(all.old_runs);
}

}  // namespace gpuprof::output
