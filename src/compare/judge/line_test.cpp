#include "compare/judge/line_test.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace gpuprof::compare {

double Values::percent(double difference) const {
  if (logs) {
    return 100 * std::expm1(difference);
  }
  // Converts to percent of the old side's mean, because `difference` is relative to the mean of all runs.
  const double before = mean(old_side());
  return before > 0 ? 100 * difference / before : std::numeric_limits<double>::infinity();
}

double log_change(double percent) {
  return std::log1p(percent / 100);
}

Values values_of(std::span<const Cost> costs, size_t old_runs, std::span<const double> factor) {
  Values values{.all = {}, .old_runs = old_runs, .logs = true};
  values.logs = std::all_of(costs.begin(), costs.end(), [](const Cost& cost) { return cost.ns > 0; });
  values.all.reserve(costs.size());
  for (size_t run = 0; run < costs.size(); ++run) {
    const auto ns = static_cast<double>(costs[run].ns);
    const double shared = factor.empty() ? 0 : factor[run];
    values.all.push_back(values.logs ? std::log(ns) - shared : ns * std::exp(-shared));
  }
  if (const double middle = mean(values.all); !values.logs && middle > 0) {
    for (double& value : values.all) {
      value /= middle;
    }
  }
  return values;
}

EstimatedDifference plain_difference(const Values& values) {
  if (!values.testable()) {
    const double difference = mean(values.new_side()) - mean(values.old_side());
    return {.mean = difference, .error = std::numeric_limits<double>::infinity(), .freedom = 1};
  }
  return welch_difference(values.old_side(), values.new_side());
}

EstimatedDifference shrunk_difference(const Values& values, const VariancePrior& prior) {
  return values.testable() ? pooled_difference(values.old_side(), values.new_side(), prior) : plain_difference(values);
}

double pooled_variance(const Values& values) {
  const auto n_old = static_cast<double>(values.old_side().size());
  const auto n_new = static_cast<double>(values.new_side().size());
  const double freedom = std::max(0.0, n_old - 1) + std::max(0.0, n_new - 1);
  const double sum =
      variance(values.old_side()) * std::max(0.0, n_old - 1) + variance(values.new_side()) * std::max(0.0, n_new - 1);
  return freedom > 0 ? sum / freedom : 0;
}

std::vector<double> common_factor(std::span<const Values> lines) {
  const size_t runs = lines.empty() ? 0 : lines.front().all.size();
  std::vector<double> means;
  means.reserve(lines.size());
  for (const Values& line : lines) {
    means.push_back(mean(line.all));
  }
  std::vector<double> factor;
  factor.reserve(runs);
  std::vector<double> deviations(lines.size());
  for (size_t run = 0; run < runs; ++run) {
    for (size_t line = 0; line < lines.size(); ++line) {
      deviations[line] = lines[line].all[run] - means[line];
    }
    factor.push_back(median(deviations));
  }
  return factor;
}

bool unequal_variances(std::span<const Values> lines) {
  constexpr double kRatio = 4;       // minimum ratio of the variances
  constexpr double kByNoChance = 4;  // minimum distance from chance, in standard errors
  std::vector<double> ratios;
  for (const Values& line : lines) {
    const double before = variance(line.old_side());
    const double after = variance(line.new_side());
    if (before > 0 && after > 0) {
      ratios.push_back(std::log(after / before));
    }
  }
  if (ratios.size() < 2) {
    return false;
  }
  const double error = std::sqrt(variance(ratios) / static_cast<double>(ratios.size()));
  return std::abs(median(ratios)) > std::log(kRatio) && std::abs(mean(ratios)) > kByNoChance * error;
}

}  // namespace gpuprof::compare
