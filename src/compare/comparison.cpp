#include "compare/comparison.h"

#include <algorithm>
#include <cstddef>
#include <unordered_map>
#include <utility>

namespace gpuprof::compare {
namespace {

// Puts the runs' kernels, functions and paths into one list each, in which the same name is the same line.
class Union {
 public:
  explicit Union(Comparison& all) : all_(all), runs_(all.runs.size()) {}

  void add(const Run& run, size_t at) {
    all_.totals[at] = run.total;
    std::vector<uint32_t> kernels;
    kernels.reserve(run.kernels.size());
    for (const Kernel& kernel : run.kernels) {
      kernels.push_back(line_of(kernel));
      all_.kernels[kernels.back()].costs[at] += kernel.cost;
    }
    std::vector<uint32_t> functions;
    functions.reserve(run.functions.size());
    for (const Function& function : run.functions) {
      functions.push_back(line_of(function));
      all_.functions[functions.back()].total[at] += function.total;
      all_.functions[functions.back()].direct[at] += function.direct;
    }
    for (const Path& path : run.paths) {
      path_.assign(1, kernels[path.kernel]);
      for (const uint32_t function : path.functions) {
        path_.push_back(functions[function]);
      }
      const auto [known, is_new] = paths_.try_emplace(path_, static_cast<uint32_t>(all_.paths.size()));
      if (is_new) {
        all_.paths.push_back({.kernel = kernels[path.kernel],
                              .functions = {path_.begin() + 1, path_.end()},
                              .costs = std::vector<Cost>(runs_)});
      }
      all_.paths[known->second].costs[at] += path.cost;
    }
  }

 private:
  uint32_t line_of(const Kernel& kernel) {
    const auto [known, is_new] = kernels_.try_emplace(kernel.name, static_cast<uint32_t>(all_.kernels.size()));
    if (is_new) {
      all_.kernels.push_back({.name = kernel.name, .costs = std::vector<Cost>(runs_)});
    }
    return known->second;
  }

  uint32_t line_of(const Function& function) {
    std::string key = std::to_string(function.name.size()).append(" ").append(function.name).append(function.file);
    const auto [known, is_new] = functions_.try_emplace(std::move(key), static_cast<uint32_t>(all_.functions.size()));
    if (is_new) {
      all_.functions.push_back({.name = function.name,
                                .file = function.file,
                                .note = function.note,
                                .total = std::vector<Cost>(runs_),
                                .direct = std::vector<Cost>(runs_)});
    }
    return known->second;
  }

  Comparison& all_;
  size_t runs_;
  std::unordered_map<std::string, uint32_t> kernels_;
  std::unordered_map<std::string, uint32_t> functions_;
  std::unordered_map<std::u32string, uint32_t> paths_;
  std::u32string path_;
};

// What is on one side only.
template <typename Line>
void mark(Line& line, const std::vector<Cost>& costs, size_t old_runs) {
  const auto any = [](auto begin, auto end) {
    return std::any_of(begin, end, [](const Cost& cost) { return cost.ns > 0 || cost.count > 0; });
  };
  const auto middle = costs.begin() + static_cast<std::ptrdiff_t>(old_runs);
  const bool in_old = any(costs.begin(), middle);
  const bool in_new = any(middle, costs.end());
  if (in_old != in_new) {
    line.match = Match::none;
    line.change = in_new ? Change::appeared : Change::gone;
  }
}

}  // namespace

Comparison compare(std::span<const Run> old_runs, std::span<const Run> new_runs) {
  Comparison all;
  all.old_runs = old_runs.size();
  for (const std::span<const Run> side : {old_runs, new_runs}) {
    for (const Run& run : side) {
      all.runs.push_back(&run.facts);
    }
  }
  all.totals.resize(all.runs.size());
  Union lines(all);
  size_t at = 0;
  for (const std::span<const Run> side : {old_runs, new_runs}) {
    for (const Run& run : side) {
      lines.add(run, at++);
    }
  }
  for (KernelLine& line : all.kernels) {
    mark(line, line.costs, all.old_runs);
  }
  for (FunctionLine& line : all.functions) {
    mark(line, line.total, all.old_runs);
  }
  for (PathLine& line : all.paths) {
    mark(line, line.costs, all.old_runs);
  }
  return all;
}

}  // namespace gpuprof::compare
