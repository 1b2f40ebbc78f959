// Converts a comparison line to values that can be tested: one per run.
#pragma once

#include <span>
#include <vector>

#include "compare/comparison.h"
#include "compare/judge/statistics.h"

namespace gpuprof::compare {

// Values per run, old side first: logarithms of ns. If any run has 0 ns, all values are ns divided by the mean of all
// runs.
struct Values {
  std::vector<double> all;
  size_t old_runs = 0;
  bool logs = true;

  [[nodiscard]] std::span<const double> old_side() const { return std::span(all).first(old_runs); }
  [[nodiscard]] std::span<const double> new_side() const { return std::span(all).subspan(old_runs); }
  [[nodiscard]] bool testable() const { return old_runs >= 2 && all.size() >= old_runs + 2; }

  [[nodiscard]] double percent(double difference) const;
};

// Converts a change in percent to a difference of logarithms.
double log_change(double percent);

// Converts costs to values. `factor` is the common factor to remove, as a logarithm per run; may be empty.
Values values_of(std::span<const Cost> costs, size_t old_runs, std::span<const double> factor);

// Compares both sides with Welch's test. With fewer than two runs on a side, the error is infinite.
EstimatedDifference plain_difference(const Values& values);

// Compares both sides. Uses one variance for both, shrunk towards the prior.
EstimatedDifference shrunk_difference(const Values& values, const VariancePrior& prior);

double pooled_variance(const Values& values);

// Returns for each run the logarithm of its common factor. It is the median over all lines of this difference: the
// line's value in this run minus the line's mean over all runs.
std::vector<double> common_factor(std::span<const Values> lines);

// True if one side varies at least twice as much as the other in most lines, and this is not due to chance.
bool unequal_variances(std::span<const Values> lines);

}  // namespace gpuprof::compare
