#include "compare/judge/statistics.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <random>

#include "base/student_t.h"

namespace gpuprof::compare {
namespace {

// Finds the zero of a falling function in [low, high] by bisection. Uses geometric means if `low` is positive.
template <typename Function>
double zero_of(double low, double high, Function falls) {
  constexpr int kSteps = 200;
  for (int step = 0; step < kSteps; ++step) {
    const double middle = low > 0 ? std::sqrt(low) * std::sqrt(high) : (low + high) / 2;
    if (middle <= low || middle >= high) {
      break;
    }
    (falls(middle) > 0 ? low : high) = middle;
  }
  return (low + high) / 2;
}

}  // namespace

double mean(std::span<const double> values) {
  const double sum = std::accumulate(values.begin(), values.end(), 0.0);
  return values.empty() ? 0 : sum / static_cast<double>(values.size());
}

double variance(std::span<const double> values) {
  if (values.size() < 2) {
    return 0;
  }
  const double middle = mean(values);
  double sum = 0;
  for (const double value : values) {
    sum += (value - middle) * (value - middle);
  }
  return sum / static_cast<double>(values.size() - 1);
}

double median(std::vector<double> values) {
  if (values.empty()) {
    return 0;
  }
  const auto upper = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), upper, values.end());
  if (values.size() % 2 == 1) {
    return *upper;
  }
  return (*upper + *std::max_element(values.begin(), upper)) / 2;
}

double digamma(double x) {
  double sum = 0;
  for (; x < 10; x += 1) {
    sum -= 1 / x;
  }
  const double y = 1 / (x * x);
  return sum + std::log(x) - (0.5 / x) - (y * (1.0 / 12 - y * (1.0 / 120 - y * (1.0 / 252 - y / 240))));
}

double trigamma(double x) {
  double sum = 0;
  for (; x < 10; x += 1) {
    sum += 1 / (x * x);
  }
  const double y = 1 / (x * x);
  return sum + (1 / x) + (y / 2) + (y / x * (1.0 / 6 - y * (1.0 / 30 - y * (1.0 / 42 - y / 30))));
}

double trigamma_inverse(double y) {
  return zero_of(1e-12, 1e12, [y](double x) { return trigamma(x) - y; });
}

VariancePrior fit_variance_prior(std::span<const double> variances, double freedom) {
  if (variances.size() < 2 || freedom <= 0) {
    return {};
  }
  // Limit small variances: a line that never varies has an extreme logarithm, which would dominate the spread.
  const double least = 1e-5 * median({variances.begin(), variances.end()});
  if (least <= 0) {
    return {};
  }
  std::vector<double> logs;
  logs.reserve(variances.size());
  for (const double value : variances) {
    logs.push_back(std::log(std::max(value, least)) - digamma(freedom / 2) + std::log(freedom / 2));
  }
  const double most = freedom * static_cast<double>(variances.size());
  const double beyond_chance = variance(logs) - trigamma(freedom / 2);
  if (beyond_chance <= 0) {
    return {.freedom = std::numeric_limits<double>::infinity(), .variance = mean(variances), .most = most};
  }
  const double prior = 2 * trigamma_inverse(beyond_chance);
  return {.freedom = prior, .variance = std::exp(mean(logs) + digamma(prior / 2) - std::log(prior / 2)), .most = most};
}

namespace {

std::vector<size_t> ascending(std::span<const double> p) {
  std::vector<size_t> order(p.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::sort(order.begin(), order.end(), [p](size_t a, size_t b) { return p[a] < p[b]; });
  return order;
}

}  // namespace

std::vector<double> benjamini_hochberg(std::span<const double> p) {
  const std::vector<size_t> order = ascending(p);
  std::vector<double> adjusted(p.size());
  double least = 1;
  for (size_t rank = order.size(); rank > 0; --rank) {
    const size_t at = order[rank - 1];
    least = std::min(least, p[at] * static_cast<double>(p.size()) / static_cast<double>(rank));
    adjusted[at] = least;
  }
  return adjusted;
}

std::vector<double> holm(std::span<const double> p) {
  const std::vector<size_t> order = ascending(p);
  std::vector<double> adjusted(p.size());
  double most = 0;
  for (size_t rank = 0; rank < order.size(); ++rank) {
    most = std::max(most, std::min(1.0, p[order[rank]] * static_cast<double>(p.size() - rank)));
    adjusted[order[rank]] = most;
  }
  return adjusted;
}

namespace {

// Returns C(n, k), but at most kMostSplits + 1.
uint64_t splits(size_t n, size_t k) {
  uint64_t count = 1;
  for (size_t i = 1; i <= k; ++i) {
    count = count * (n - k + i) / i;
    if (count > kMostSplits) {
      return kMostSplits + 1;
    }
  }
  return count;
}

}  // namespace

bool draws_permutations(size_t old_runs, size_t new_runs) {
  return splits(old_runs + new_runs, new_runs) > kMostSplits;
}

double permutation_p(std::span<const double> old_side, std::span<const double> new_side, uint64_t seed) {
  std::vector<double> all(old_side.begin(), old_side.end());
  all.insert(all.end(), new_side.begin(), new_side.end());
  const double seen = std::accumulate(new_side.begin(), new_side.end(), 0.0);
  // Sums of equal values may differ a little by rounding.
  const double enough = seen - (1e-12 * std::max(1.0, std::abs(seen)));
  const size_t taken = new_side.size();
  uint64_t ways = 0;
  uint64_t as_far = 0;
  const auto count = [&](double sum) {
    ++ways;
    as_far += sum >= enough ? 1 : 0;
  };
  if (draws_permutations(old_side.size(), taken)) {
    std::mt19937_64 random(seed);  // NOLINT(bugprone-random-generator-seed): a fixed seed, for repeatable verdicts
    count(seen);                   // the observed split counts, too
    while (ways < kMostSplits / 10) {
      double sum = 0;
      for (size_t i = 0; i < taken; ++i) {
        std::swap(all[i], all[i + (random() % (all.size() - i))]);
        sum += all[i];
      }
      count(sum);
    }
    return static_cast<double>(as_far) / static_cast<double>(ways);
  }
  std::vector<size_t> chosen(taken);  // indexes in ascending order, so that each split occurs once
  std::iota(chosen.begin(), chosen.end(), size_t{0});
  for (;;) {
    double sum = 0;
    for (const size_t at : chosen) {
      sum += all[at];
    }
    count(sum);
    size_t i = taken;
    while (i > 0 && chosen[i - 1] == all.size() - taken + i - 1) {
      --i;
    }
    if (i == 0) {
      return static_cast<double>(as_far) / static_cast<double>(ways);
    }
    ++chosen[i - 1];
    for (; i < taken; ++i) {
      chosen[i] = chosen[i - 1] + 1;
    }
  }
}

double EstimatedDifference::p_above(double least) const {
  const double beyond = mean - least;
  if (error <= 0) {
    return beyond > 0 ? 0 : 1;
  }
  return student_t_above(beyond / error, freedom);
}

double EstimatedDifference::margin(double above) const {
  return error <= 0 ? 0 : error * student_t_quantile(above, freedom);
}

double EstimatedDifference::detectable(double alpha, double power) const {
  return error <= 0 ? 0 : error * (student_t_quantile(alpha, freedom) + student_t_quantile(1 - power, freedom));
}

EstimatedDifference pooled_difference(std::span<const double> old_side, std::span<const double> new_side,
                                      const VariancePrior& prior) {
  const auto n_old = static_cast<double>(old_side.size());
  const auto n_new = static_cast<double>(new_side.size());
  const double own = n_old + n_new - 2;
  double shared = (variance(old_side) * (n_old - 1) + variance(new_side) * (n_new - 1)) / own;
  if (std::isinf(prior.freedom)) {
    shared = prior.variance;
  } else {
    shared = (shared * own + prior.variance * prior.freedom) / (own + prior.freedom);
  }
  return {.mean = mean(new_side) - mean(old_side),
          .error = std::sqrt(shared * (1 / n_old + 1 / n_new)),
          .freedom = std::min(own + prior.freedom, prior.most)};
}

EstimatedDifference welch_difference(std::span<const double> old_side, std::span<const double> new_side) {
  const auto n_old = static_cast<double>(old_side.size());
  const auto n_new = static_cast<double>(new_side.size());
  const double a = variance(old_side) / n_old;
  const double b = variance(new_side) / n_new;
  const double error = std::sqrt(a + b);
  const double freedom = error > 0 ? (a + b) * (a + b) / (a * a / (n_old - 1) + b * b / (n_new - 1)) : 1;
  return {.mean = mean(new_side) - mean(old_side), .error = error, .freedom = freedom};
}

}  // namespace gpuprof::compare
