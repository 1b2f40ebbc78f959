#include "compare/judge/judge_factor.h"

#include <algorithm>
#include <vector>

#include "compare/judge/judge_text.h"

namespace gpuprof::compare {
namespace {

// The common factor is suspicious if at least kLeastApart kernels, and at least 1 in kPartApart of all, did not become
// slower with the others.
constexpr size_t kLeastApart = 2;
constexpr size_t kPartApart = 10;

}  // namespace

std::string suspicious_factor(std::span<const TestedLine> kernels, std::span<const double> factor, size_t old_runs,
                              const JudgeOptions& options) {
  Values shared;
  shared.all.assign(factor.begin(), factor.end());
  shared.old_runs = old_runs;
  if (factor.empty() || !shared.testable()) {
    return "";
  }
  const EstimatedDifference growth = plain_difference(shared);
  const double percent = shared.percent(growth.mean);
  if (percent <= options.material_percent || options.thresholds.allowing(kTotal, percent) != nullptr) {
    return "";
  }
  // Counts kernels that are faster only relative to the others: their own time did not fall, so the others may be
  // slower.
  const double margin = growth.margin(options.total_level);
  const auto apart = static_cast<size_t>(std::count_if(kernels.begin(), kernels.end(), [&](const TestedLine& kernel) {
    return kernel.finding.verdict == Verdict::faster && growth.mean + kernel.difference.mean > -margin;
  }));
  if (apart >= std::max(kLeastApart, kernels.size() / kPartApart)) {
    return most_slower_text(percent, kernels.size(), apart);
  }
  return growth.p_above() <= options.false_discovery_rate ? most_slower_text(percent, kernels.size(), 0) : "";
}

}  // namespace gpuprof::compare
