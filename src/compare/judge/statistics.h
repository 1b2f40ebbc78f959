// Statistical functions for judge(), which work on plain numbers. Degrees of freedom may be fractional or infinite.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

namespace gpuprof::compare {

double mean(std::span<const double> values);  // returns 0 for no values
// Variance of a sample (divided by n - 1); 0 for fewer than two values.
double variance(std::span<const double> values);
double median(std::vector<double> values);  // returns 0 for no values

double digamma(double x);           // requires x > 0
double trigamma(double x);          // requires x > 0
double trigamma_inverse(double y);  // requires y > 0

// What the variances of many lines have in common: an inverse chi-squared prior with `freedom` degrees at `variance`
// (Smyth, Linear models and empirical Bayes methods, 2004, section 6.2).
struct VariancePrior {
  double freedom = 0;  // infinite if the variances differ only by chance; 0 without a prior
  double variance = 0;
  double most = std::numeric_limits<double>::infinity();  // maximum degrees of freedom for the test of one kernel
};

// Fits the prior. Each of `variances` has `freedom` degrees. Returns no prior for fewer than two variances.
VariancePrior fit_variance_prior(std::span<const double> variances, double freedom);

// Adjust p-values for multiple tests. Element i of the result belongs to element i of `p`.
std::vector<double> benjamini_hochberg(std::span<const double> p);
std::vector<double> holm(std::span<const double> p);

// permutation_p() splits the runs in all possible ways into sides of these sizes. It returns the share of splits whose
// difference of means (new - old) is at least the observed one. If there are more than kMostSplits ways, it examines
// kMostSplits / 10 of them: the observed split and random ones.
inline constexpr uint64_t kMostSplits = 200'000;
bool draws_permutations(size_t old_runs, size_t new_runs);
double permutation_p(std::span<const double> old_side, std::span<const double> new_side, uint64_t seed);

// The difference of the means (new - old), its standard error, and the degrees of freedom of this error.
struct EstimatedDifference {
  double mean = 0;
  double error = 0;
  double freedom = 1;

  // Returns the one-sided p-value of the hypothesis that the true difference is at most `least`.
  [[nodiscard]] double p_above(double least = 0) const;
  // Returns half the width of the confidence interval. The probability beyond each end of the interval is `above`.
  [[nodiscard]] double margin(double above) const;
  // Returns the true difference that a test at level `alpha` finds with probability `power`.
  [[nodiscard]] double detectable(double alpha, double power) const;
};

// Requires at least two values on each side.
EstimatedDifference pooled_difference(std::span<const double> old_side, std::span<const double> new_side,
                                      const VariancePrior& prior = {});
EstimatedDifference welch_difference(std::span<const double> old_side, std::span<const double> new_side);

}  // namespace gpuprof::compare
