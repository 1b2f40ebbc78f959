#include "compare/judge/tested_line.h"

#include <algorithm>
#include <cmath>

namespace gpuprof::compare {

Means means_of(std::span<const Cost> costs, size_t old_runs) {
  Means means;
  const size_t new_runs = costs.size() - old_runs;
  for (size_t run = 0; run < costs.size(); ++run) {
    const bool old_side = run < old_runs;
    const auto runs = static_cast<double>(old_side ? old_runs : new_runs);
    (old_side ? means.old_ns : means.new_ns) += static_cast<double>(costs[run].ns) / runs;
    (old_side ? means.old_count : means.new_count) += static_cast<double>(costs[run].count) / runs;
  }
  return means;
}

namespace {

// Splits the change into the change by more launches and the change by longer launches.
void part_change(const Means& means, Finding& finding) {
  if (means.old_count > 0 && means.new_count > 0 && std::isfinite(finding.change_percent)) {
    const double launches = means.new_count / means.old_count;
    finding.launches_percent = 100 * (launches - 1);
    finding.duration_percent = 100 * ((1 + finding.change_percent / 100) / launches - 1);
  }
}

}  // namespace

void describe(std::span<const Cost> costs, TestedLine& tested) {
  Finding& finding = tested.finding;
  const EstimatedDifference& difference = tested.difference;
  const Means means = means_of(costs, tested.values.old_runs);
  finding.old_ns = means.old_ns;
  finding.new_ns = means.new_ns;
  finding.change_percent = tested.values.percent(difference.mean);
  const double margin = difference.margin(kOutside);
  finding.low_percent = std::max(-100.0, tested.values.percent(difference.mean - margin));
  finding.high_percent = tested.values.percent(difference.mean + margin);
  finding.p = difference.p_above();
  finding.adjusted_p = finding.p;
  part_change(means, finding);
}

void judge_finding(double level, const JudgeOptions& options, double material_ns, Finding& finding) {
  // Use the tested change, because the plain means also include the common factor.
  const double growth_ns = finding.change_percent / 100 * finding.old_ns;
  const bool material =
      std::abs(finding.change_percent) > options.material_percent && std::abs(growth_ns) > material_ns;
  if (finding.adjusted_p <= level) {
    finding.verdict = !material ? Verdict::too_small : finding.change_percent > 0 ? Verdict::slower : Verdict::faster;
  }
}

}  // namespace gpuprof::compare
