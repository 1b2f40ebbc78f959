// One line of a comparison as numbers that can be tested: a value for each run.
#pragma once

#include <span>
#include <vector>

#include "compare/comparison.h"
#include "compare/judge/statistics.h"

namespace gpuprof::compare {

// The values of a line's runs, those of the old side first. Logarithms of ns; where a run has none, the ns in parts of
// the mean of all runs.
struct Values {
  std::vector<double> all;
  size_t old_runs = 0;
  bool logs = true;

  [[nodiscard]] std::span<const double> old_side() const { return std::span(all).first(old_runs); }
  [[nodiscard]] std::span<const double> new_side() const { return std::span(all).subspan(old_runs); }
  [[nodiscard]] bool testable() const { return old_runs >= 2 && all.size() >= old_runs + 2; }

  // A difference of them as a change in percent.
  [[nodiscard]] double percent(double difference) const;
};

// What a change of `percent` is as a difference of logarithms.
double log_change(double percent);

// `factor`: the logarithm of what each run's costs have in common; empty: none is taken out.
Values values_of(std::span<const Cost> costs, size_t old_runs, std::span<const double> factor);

// By Welch's test; of fewer than two runs a side nothing is known, and the error is infinite.
EstimatedDifference plain_difference(const Values& values);

// With a variance for both sides, shrunk by the prior.
EstimatedDifference shrunk_difference(const Values& values, const VariancePrior& prior);

// The variance of a run, both sides together.
double pooled_variance(const Values& values);

// The logarithm of what all lines have in common, for each run: the median over lines of how far the run is from the
// line's mean.
std::vector<double> common_factor(std::span<const Values> lines);

// One side varies at least twice as much as the other in most lines, and not by chance.
bool unequal_variances(std::span<const Values> lines);

}  // namespace gpuprof::compare
