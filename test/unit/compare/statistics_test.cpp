// Expected values come from R 4.2.2 (digamma, p.adjust, t.test) and limma 3.54.1 (trigammaInverse,
// fitFDist, eBayes).
#include "compare/judge/statistics.h"

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "catch.h"

using namespace gpuprof::compare;

namespace {

bool is_near(double value, double expected, double relative = 1e-9) {
  CAPTURE(value, expected);
  return std::abs(value - expected) <= relative * std::max(std::abs(expected), 1e-12);
}

}  // namespace

TEST_CASE("digamma, trigamma and its inverse have R's values") {
  CHECK(is_near(digamma(0.5), -1.96351002602142));
  CHECK(is_near(digamma(4), 1.2561176684318));
  CHECK(is_near(digamma(37.25), 3.60416907300563));
  CHECK(is_near(trigamma(0.5), 4.93480220054468));
  CHECK(is_near(trigamma(4), 0.283822955737115));
  CHECK(is_near(trigamma(37.25), 0.0272092058039556));
  CHECK(is_near(trigamma_inverse(0.1), 10.4916818210784, 1e-8));
  CHECK(is_near(trigamma_inverse(3), 0.67547810528137, 1e-8));
  CHECK(is_near(trigamma_inverse(1e-5), 100000.499999167, 1e-6));
}

TEST_CASE("the prior of variances is limma's") {
  const std::vector<double> unlike{1.2, 0.8, 2.5, 0.3, 1.9, 0.6, 4.4, 1.1, 0.9, 3.2};
  const VariancePrior prior = fit_variance_prior(unlike, 8);
  CHECK(is_near(prior.variance, 1.22391508849652, 1e-8));
  CHECK(is_near(prior.freedom, 6.13230785035269, 1e-6));

  const std::vector<double> alike{1.2, 0.9, 1.1, 1.0, 0.8, 1.3, 1.05, 0.95, 1.15, 0.85};
  CHECK(is_near(fit_variance_prior(alike, 8).variance, 1.03));
  CHECK(std::isinf(fit_variance_prior(alike, 8).freedom));

  CHECK(fit_variance_prior(std::vector<double>{1.0}, 8).freedom == 0);
  CHECK(fit_variance_prior(std::vector<double>{0, 0, 0}, 8).freedom == 0);
  CHECK(std::isfinite(fit_variance_prior(std::vector<double>{0, 1, 2}, 8).variance));
}

TEST_CASE("a moderated t is equal to limma's") {
  const std::vector<std::vector<double>> old_sides{{1, 1.2, 0.9}, {2, 2.1, 1.95}, {0.5, 0.9, 0.1}, {3, 3.05, 2.95}};
  const std::vector<std::vector<double>> new_sides{{1.5, 1.6, 1.4}, {2, 2.2, 2.1}, {0.4, 1.1, 0.3}, {3.3, 3.35, 3.25}};
  std::vector<double> variances;
  for (size_t i = 0; i < old_sides.size(); ++i) {
    variances.push_back((variance(old_sides[i]) + variance(new_sides[i])) / 2);
  }
  const VariancePrior prior = fit_variance_prior(variances, 4);
  CHECK(is_near(prior.freedom, 1.48748361760144, 1e-7));
  CHECK(is_near(prior.variance, 0.00907402100254022, 1e-7));
  const std::vector<double> t{4.72877883547641, 1.12500435865991, 0.339653452079695, 5.61491343853363};
  const std::vector<double> p{0.00204281787083701, 0.153686636873485, 0.373368046328773, 0.00091650700273328};
  for (size_t i = 0; i < old_sides.size(); ++i) {
    const EstimatedDifference difference = pooled_difference(old_sides[i], new_sides[i], prior);
    CHECK(is_near(difference.mean / difference.error, t[i], 1e-7));
    CHECK(is_near(difference.p_above(), p[i], 1e-7));
  }
}

TEST_CASE("no test has more degrees of freedom than all lines together") {
  const VariancePrior prior = fit_variance_prior(std::vector<double>{1, 1, 1}, 4);
  CHECK(std::isinf(prior.freedom));
  const std::vector<double> side{1, 2, 3};
  CHECK(pooled_difference(side, side, prior).freedom == 12);
  CHECK(pooled_difference(side, side).freedom == 4);
}

TEST_CASE("p values are adjusted for the number of tests as in R") {
  const std::vector<double> p{0.01, 0.04, 0.03, 0.005, 0.5, 0.02};
  const std::vector<double> bh{0.03, 0.048, 0.045, 0.03, 0.5, 0.04};
  const std::vector<double> by_holm{0.05, 0.09, 0.09, 0.03, 0.5, 0.08};
  for (size_t i = 0; i < p.size(); ++i) {
    CHECK(is_near(benjamini_hochberg(p)[i], bh[i]));
    CHECK(is_near(holm(p)[i], by_holm[i]));
  }
  CHECK(benjamini_hochberg({}).empty());
  CHECK(holm({}).empty());
}

TEST_CASE("Welch's test and the pooled test have R's results") {
  const std::vector<double> old_side{1.0, 1.2, 0.9, 1.1, 1.05};
  const std::vector<double> new_side{1.3, 1.25, 1.6, 1.35, 1.2};
  const EstimatedDifference welch = welch_difference(old_side, new_side);
  CHECK(is_near(welch.mean, 0.29));
  CHECK(is_near(welch.error, 0.0857321409974112));
  CHECK(is_near(welch.freedom, 7.25804013771098));
  CHECK(is_near(welch.p_above(), 0.00554850332372028));
  CHECK(is_near(pooled_difference(old_side, new_side).p_above(), 0.00480209589857946));

  const EstimatedDifference uneven = welch_difference({old_side.data(), 3}, new_side);
  CHECK(is_near(uneven.error, 0.112373385540251));
  CHECK(is_near(uneven.mean - uneven.margin(0.025), 0.0058728159731765, 1e-8));
  CHECK(is_near(uneven.mean + uneven.margin(0.025), 0.607460517360157, 1e-8));
}

TEST_CASE("runs without any variance give p values of 0 or 1") {
  const std::vector<double> one{1, 1, 1};
  const std::vector<double> other{2, 2, 2};
  CHECK(welch_difference(one, other).p_above() == 0);
  CHECK(welch_difference(one, one).p_above() == 1);
  CHECK(welch_difference(one, one).margin(0.025) == 0);
}

TEST_CASE("a permutation test counts all splits, or draws a random subset of them") {
  const std::vector<double> old_side{1.0, 1.2, 0.9, 1.1, 1.05};
  const std::vector<double> new_side{1.3, 1.25, 1.6, 1.35, 1.2};
  // Of the 252 splits, only the real one and the one that swaps the two values 1.2 have so large a difference.
  CHECK(is_near(permutation_p(old_side, new_side, 1), 2.0 / 252));

  std::vector<double> low(20);
  std::vector<double> high(20);
  for (size_t i = 0; i < low.size(); ++i) {
    low[i] = static_cast<double>(i);
    high[i] = static_cast<double>(i) + 100;
  }
  CHECK(permutation_p(low, high, 1) < 0.001);
  CHECK(permutation_p(low, high, 1) > 0);
  CHECK(permutation_p(high, low, 1) == 1);
  CHECK(permutation_p(low, low, 7) == permutation_p(low, low, 7));
  CHECK(permutation_p(low, low, 7) > 0.4);
}

TEST_CASE("the detectable effect has the requested power") {
  // The expected value is qt(0.995, 8) + qt(0.8, 8) of R.
  const EstimatedDifference difference{.mean = 0, .error = 1, .freedom = 8};
  CHECK(is_near(difference.detectable(0.005, 0.8), 4.2442768491, 1e-9));
}
