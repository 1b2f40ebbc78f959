#include "compare/judge/judge_paths.h"

#include <algorithm>

#include "compare/judge/tested_line.h"

namespace gpuprof::compare {
namespace {

// Significance level for Holm's test; not strict, because the kernel of the paths is already known to be slower.
constexpr double kLevel = 0.05;

Verdict verdict_of(Change change) {
  switch (change) {
    case Change::moved:
      return Verdict::moved;
    case Change::appeared:
      return Verdict::appeared;
    case Change::gone:
      return Verdict::gone;
    case Change::both:
    case Change::renamed:
      break;
  }
  return Verdict::same;
}

// True: all of the kernel's work is of this path.
bool is_only_path(const Comparison& runs, const PathLine& path) {
  const std::vector<Cost>& kernel = runs.kernels[path.kernel].costs;
  return std::equal(path.costs.begin(), path.costs.end(), kernel.begin(), kernel.end(),
                    [](const Cost& a, const Cost& b) { return a.ns == b.ns && a.count == b.count; });
}

std::vector<Finding> tested_paths(const Comparison& runs, std::span<const uint32_t> lines, const Finding& kernel,
                                  std::span<const double> factor) {
  std::vector<Finding> findings;
  std::vector<double> p;
  for (const uint32_t line : lines) {
    const PathLine& path = runs.paths[line];
    TestedLine tested;
    tested.values = values_of(path.costs, runs.old_runs, factor);
    tested.difference = tested.values.logs ? shrunk_difference(tested.values, {}) : plain_difference(tested.values);
    describe(path.costs, tested);
    if (is_only_path(runs, path)) {  // the same data must not have two intervals
      tested.finding.low_percent = kernel.low_percent;
      tested.finding.high_percent = kernel.high_percent;
      tested.finding.p = kernel.p;
    }
    tested.finding.what = Finding::What::path;
    tested.finding.line = line;
    tested.finding.verdict = verdict_of(path.change);
    p.push_back(tested.finding.verdict == Verdict::same ? tested.finding.p : 1);
    findings.push_back(std::move(tested.finding));
  }
  p = holm(p);
  for (size_t i = 0; i < findings.size(); ++i) {
    findings[i].adjusted_p = p[i];
  }
  return findings;
}

double growth(const Finding& finding) {
  return finding.new_ns - finding.old_ns;
}

}  // namespace

std::vector<Finding> judge_paths(const Comparison& runs, std::span<const uint32_t> lines, const Finding& kernel,
                                 std::span<const double> factor, const JudgeOptions& options, double material_ns) {
  const bool slower = kernel.verdict == Verdict::slower || kernel.verdict == Verdict::excused;
  std::vector<Finding> all = tested_paths(runs, lines, kernel, factor);
  std::vector<Finding> told;
  for (Finding& path : all) {
    const bool material = path.change_percent > options.material_percent;
    if (slower && path.verdict == Verdict::same && path.adjusted_p <= kLevel && material) {
      path.verdict = Verdict::slower;
    }
    if (path.verdict != Verdict::same && std::max(path.old_ns, path.new_ns) > material_ns) {
      told.push_back(path);
    }
  }
  const auto grows_less = [](const Finding& a, const Finding& b) { return growth(a) < growth(b); };
  const auto most = std::max_element(all.begin(), all.end(), grows_less);
  if (slower && told.empty() && most != all.end()) {
    told.push_back(*most);
    told.back().verdict = Verdict::unclear;
    told.back().note = "grew most, but no path is significantly slower";
  }
  std::stable_sort(told.begin(), told.end(), [&](const Finding& a, const Finding& b) { return grows_less(b, a); });
  return told;
}

}  // namespace gpuprof::compare
