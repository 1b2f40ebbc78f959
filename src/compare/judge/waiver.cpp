#include "compare/judge/waiver.h"

#include <algorithm>
#include <vector>

#include "compare/judge/judge_text.h"

namespace gpuprof::compare {
namespace {

void waive(const JudgeOptions& options, const Threshold& entry, Finding& finding) {
  finding.verdict = Verdict::excused;
  finding.note = excused_text(options.thresholds, entry);
}

// Returns the threshold entry that allows the path's growth, or null.
const Threshold* entry_of_path(const Comparison& runs, const PathLine& path, const Means& means,
                               const JudgeOptions& options) {
  for (const uint32_t function : path.functions) {
    const Threshold* entry = options.thresholds.find(runs.functions[function].name);
    if (entry != nullptr && 100 * (means.new_ns - means.old_ns) <= entry->percent * means.old_ns) {
      return entry;
    }
  }
  return nullptr;
}

}  // namespace

void waive_kernel(const Comparison& runs, std::span<const uint32_t> paths, const JudgeOptions& options,
                  double material_ns, Finding& kernel) {
  if (kernel.verdict != Verdict::slower || options.thresholds.entries.empty()) {
    return;
  }
  const std::string& name = runs.kernels[kernel.line].name;
  if (const Threshold* entry = options.thresholds.allowing(name, kernel.change_percent)) {
    waive(options, *entry, kernel);
    return;
  }
  double left_ns = kernel.new_ns - kernel.old_ns;
  const Threshold* used = nullptr;
  for (const uint32_t line : paths) {
    const PathLine& path = runs.paths[line];
    const Means means = means_of(path.costs, runs.old_runs);
    const Threshold* of_path = means.new_ns > means.old_ns ? entry_of_path(runs, path, means, options) : nullptr;
    if (of_path != nullptr) {
      left_ns -= means.new_ns - means.old_ns;
      used = of_path;
    }
  }
  if (used != nullptr && (left_ns <= material_ns || 100 * left_ns <= options.material_percent * kernel.old_ns)) {
    waive(options, *used, kernel);
  }
}

void waive_appeared(const Comparison& runs, const JudgeOptions& options, double total_ns, Finding& kernel) {
  const Threshold* entry = options.thresholds.find(runs.kernels[kernel.line].name);
  if (kernel.verdict == Verdict::appeared && entry != nullptr && 100 * kernel.new_ns <= entry->percent * total_ns) {
    kernel.note = excused_text(options.thresholds, *entry);
  }
}

void waive_total(const Comparison& runs, std::span<const Finding* const> excused, std::span<const double> factor,
                 const JudgeOptions& options, double material_ns, Finding& total) {
  if (total.verdict != Verdict::slower) {
    return;
  }
  if (const Threshold* entry = options.thresholds.allowing(kTotal, total.change_percent)) {
    waive(options, *entry, total);
    return;
  }
  if (excused.empty()) {
    return;
  }
  std::vector<Cost> rest(runs.totals);
  for (const Finding* kernel : excused) {
    for (size_t run = 0; run < rest.size(); ++run) {
      rest[run].ns -= std::min(rest[run].ns, runs.kernels[kernel->line].costs[run].ns);
    }
  }
  TestedLine without;
  without.values = values_of(rest, runs.old_runs, factor);
  without.difference = plain_difference(without.values);
  describe(rest, without);
  judge_finding(options.total_level, options, material_ns, without.finding);
  if (without.finding.verdict != Verdict::slower) {
    total.verdict = Verdict::excused;
    total.note = excused.back()->note;
  }
}

}  // namespace gpuprof::compare
