// The statistics that judge() needs, and nothing of profiles. Degrees of freedom may be fractions, and infinite.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

namespace gpuprof::compare {

double mean(std::span<const double> values);      // of none: 0
double variance(std::span<const double> values);  // of a sample (n - 1); of fewer than two: 0
double median(std::vector<double> values);        // of none: 0

// The regularized incomplete beta function I_x(a, b), a and b > 0.
double incomplete_beta(double a, double b, double x);

// P(T > t) of Student's t. Infinite freedom: the normal distribution.
double student_t_above(double t, double freedom);

// The t of which student_t_above() is `above`, 0 < above < 1.
double student_t_quantile(double above, double freedom);

double digamma(double x);           // x > 0
double trigamma(double x);          // x > 0
double trigamma_inverse(double y);  // y > 0

// What the variances of many lines have in common: an inverse chi-squared prior of `freedom` degrees at `variance`
// (Smyth, Linear models and empirical Bayes methods, 2004, section 6.2).
struct VariancePrior {
  double freedom = 0;  // infinite: the variances differ by no more than chance; 0: there is no prior
  double variance = 0;
  double most = std::numeric_limits<double>::infinity();  // freedom of all lines together: no line's test has more
};

// `variances` have `freedom` degrees each. Fewer than two of them have no prior.
VariancePrior fit_variance_prior(std::span<const double> variances, double freedom);

// p-values adjusted for their number, in the order in which they came.
std::vector<double> benjamini_hochberg(std::span<const double> p);
std::vector<double> holm(std::span<const double> p);

// The share of ways to part all values into sides of these sizes of which the difference of the means (new - old) is
// at least the one seen. All ways where they are at most kMostSplits, else a tenth as many, drawn with `seed`, the one
// seen among them.
inline constexpr uint64_t kMostSplits = 200'000;
bool draws_permutations(size_t old_runs, size_t new_runs);
double permutation_p(std::span<const double> old_side, std::span<const double> new_side, uint64_t seed);

// The mean of new - old, its standard error, and the degrees of freedom of that error.
struct EstimatedDifference {
  double mean = 0;
  double error = 0;
  double freedom = 1;

  // One-sided: that the true difference is not above `least`.
  [[nodiscard]] double p_above(double least = 0) const;
  // Half of the width of the confidence interval of which `above` lies beyond either end.
  [[nodiscard]] double margin(double above) const;
  // The true difference that a test at `alpha` finds with `power`.
  [[nodiscard]] double detectable(double alpha, double power) const;
};

// Both sides have at least two values.
EstimatedDifference pooled_difference(std::span<const double> old_side, std::span<const double> new_side,
                                      const VariancePrior& prior = {});
EstimatedDifference welch_difference(std::span<const double> old_side, std::span<const double> new_side);

}  // namespace gpuprof::compare
