#include "analyze/ranks/lag.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

namespace gpuprof::analyze {
namespace {

constexpr double kSigmaOfMad = 1.4826;     // factor from median absolute to standard deviation (normal distribution)
constexpr double kErrorOfMedian = 1.2533;  // factor from standard error of a mean to that of a median
// Smallest noise that is assumed, because clocks and slices have limited precision.
constexpr double kLeastNoise = 0.005;
constexpr double kPersistent = 0.8;
// A lag that ends in the last three columns must last a fifth of all columns, any other a third. Shorter slowdowns
// mostly come from a disturbed host.
constexpr size_t kLeastPart = 5;
constexpr size_t kLeastPartEnded = 3;
constexpr size_t kEnd = 2;
constexpr size_t kGroup = 4;
constexpr size_t kLeastGroups = 6;
constexpr int kRounds = 4;
constexpr size_t kRanksForSpread = 4;
constexpr double kMostAlikeRanks = 0.8;
// The start of a lag may be any column that is at least e^-4 (1/50) as likely as the best column.
constexpr double kLikelihood = 4;

double mad_of(const std::vector<double>& values) {
  const double middle = median_of(values);
  std::vector<double> distances;
  distances.reserve(values.size());
  for (const double value : values) {
    distances.push_back(std::abs(value - middle));
  }
  return median_of(std::move(distances));
}

// Returns the median of the sorted column without one occurrence of `value`.
double median_without(const std::vector<double>& sorted, double value) {
  std::vector<double> rest = sorted;
  rest.erase(std::lower_bound(rest.begin(), rest.end(), value));
  const size_t half = rest.size() / 2;
  return rest.size() % 2 == 1 ? rest[half] : (rest[half - 1] + rest[half]) / 2;
}

struct Excess {  // both members are indexed by rank, then by column
  std::vector<std::vector<double>> share;
  std::vector<std::vector<double>> others_ns;
};

Excess excess_of(const OwnTimes& own) {
  const size_t columns = own.front().size();
  Excess excess{std::vector(own.size(), std::vector<double>(columns)),
                std::vector(own.size(), std::vector<double>(columns))};
  std::vector<double> sorted(own.size());
  for (size_t column = 0; column < columns; ++column) {
    for (size_t rank = 0; rank < own.size(); ++rank) {
      sorted[rank] = own[rank][column];
    }
    std::sort(sorted.begin(), sorted.end());
    for (size_t rank = 0; rank < own.size(); ++rank) {
      const double others = median_without(sorted, own[rank][column]);
      excess.others_ns[rank][column] = others;
      excess.share[rank][column] = own[rank][column] - others;
    }
  }
  // Use one scale for all columns: columns in which the other ranks need little time must not amplify differences.
  for (size_t rank = 0; rank < own.size(); ++rank) {
    const double scale = std::max(median_of(excess.others_ns[rank]), 1.0);
    for (double& share : excess.share[rank]) {
      share /= scale;
    }
  }
  return excess;
}

struct Fit {
  // First and last column of the lag. If first > last, the rank does not lag.
  size_t first = 1;
  size_t last = 0;
  double outside = 0;
  double within = 0;
};

// For each value, returns its distance to `outside` minus its distance to `within`, so that a positive value is nearer
// to `within`. An outlier counts at most the distance of the two levels.
std::vector<double> votes_by_distance(const std::vector<double>& values, const Fit& fit) {
  std::vector<double> votes;
  votes.reserve(values.size());
  for (const double value : values) {
    votes.push_back(std::abs(value - fit.outside) - std::abs(value - fit.within));
  }
  return votes;
}

void choose_interval(const std::vector<double>& votes, Fit& fit) {
  double best = 0;
  double sum = 0;
  size_t begin = 0;
  fit.first = 1;
  fit.last = 0;
  for (size_t i = 0; i < votes.size(); ++i) {
    if (sum <= 0) {
      sum = 0;
      begin = i;
    }
    sum += votes[i];
    if (sum > best) {
      best = sum;
      fit.first = begin;
      fit.last = i;
    }
  }
}

std::vector<double> cut(const std::vector<double>& values, size_t first, size_t last) {
  return {values.begin() + static_cast<std::ptrdiff_t>(first), values.begin() + static_cast<std::ptrdiff_t>(last) + 1};
}

std::vector<double> medians_of(const std::vector<double>& values, size_t group) {
  std::vector<double> medians;
  for (size_t i = 0; i + group <= values.size(); i += group) {
    medians.push_back(median_of(cut(values, i, i + group - 1)));
  }
  return medians;
}

// Estimates a column's noise from the changes between neighbours. Only the two ends of a lag affect these changes.
double noise_of_changes(const std::vector<double>& values, size_t group) {
  const std::vector<double> medians = medians_of(values, group);
  std::vector<double> steps;
  for (size_t i = 1; i < medians.size(); ++i) {
    steps.push_back(medians[i] - medians[i - 1]);
  }
  return kSigmaOfMad * mad_of(steps) * std::sqrt(static_cast<double>(group) / 2);
}

size_t least_length(size_t columns, size_t last) {
  return std::max(kLeastLag, columns / (last + kEnd + 1 >= columns ? kLeastPart : kLeastPartEnded));
}

// Uses all columns. The columns of a lag would underestimate the noise, because they were chosen for being alike.
double noise_of(const Excess& excess, size_t rank) {
  const size_t columns = excess.share[rank].size();
  double noise = noise_of_changes(excess.share[rank], 1);
  // A disturbed host slows down several columns, so also compare groups of columns.
  if (columns >= kGroup * kLeastGroups) {
    noise = std::max(noise, noise_of_changes(excess.share[rank], kGroup));
  }
  if (excess.share.size() >= kRanksForSpread) {
    std::vector<double> others;
    for (size_t other = 0; other < excess.share.size(); ++other) {
      for (size_t i = 0; other != rank && i < columns; ++i) {
        others.push_back(excess.share[other][i]);
      }
    }
    noise = std::max(noise, kSigmaOfMad * mad_of(others));
  }
  return std::max(noise, kLeastNoise);
}

// Alternately fits a lag's columns, and the levels within and outside of these columns. Returns an empty fit if the lag
// is too short or small.
Fit fit_of(const std::vector<double>& share, double least_effect) {
  Fit fit{.within = least_effect};
  for (int round = 0; round < kRounds; ++round) {
    choose_interval(votes_by_distance(share, fit), fit);
    if (fit.first > fit.last || fit.last - fit.first + 1 < least_length(share.size(), fit.last)) {
      return {};
    }
    fit.within = median_of(cut(share, fit.first, fit.last));
    if (fit.within < least_effect) {
      return {};
    }
    std::vector<double> rest = cut(share, 0, fit.first);
    rest.pop_back();
    rest.insert(rest.end(), share.begin() + static_cast<std::ptrdiff_t>(fit.last) + 1, share.end());
    // With few columns outside of the lag, assume that the rank takes as long as the others outside of it.
    fit.outside = rest.size() < kLeastLag ? 0 : std::clamp(median_of(std::move(rest)), -fit.within / 2, fit.within / 2);
  }
  return fit;
}

std::vector<double> deviations_of(const std::vector<double>& share, const Fit& fit) {
  std::vector<double> deviations(share);
  for (size_t i = 0; i < share.size(); ++i) {
    deviations[i] -= fit.first <= i && i <= fit.last ? fit.within : fit.outside;
  }
  return deviations;
}

// Returns how many adjacent columns count as one independent column, because a disturbed host affects several at once.
// Counts how often neighbours deviate to the same side, because outliers do not change that.
double alike_columns(const std::vector<double>& deviations) {
  double same = 0;
  for (size_t i = 1; i < deviations.size(); ++i) {
    same += (deviations[i] > 0) == (deviations[i - 1] > 0) ? 1 : -1;
  }
  const double correlation = std::clamp(same / static_cast<double>(deviations.size() - 1), 0.0, kMostAlikeRanks);
  return (1 + correlation) / (1 - correlation);
}

// Finds the starts of the lag that are at least 1/50 as likely as the best one, if deviations are Laplace-distributed.
void bound_start(const std::vector<double>& share, const Fit& fit, Lag& lag) {
  const std::vector<double> deviations = deviations_of(share, fit);
  const double sum = std::accumulate(deviations.begin(), deviations.end(), 0.0,
                                     [](double all, double one) { return all + std::abs(one); });
  const double scale = std::max(sum / static_cast<double>(share.size()), kLeastNoise) * alike_columns(deviations);
  const double most = kLikelihood * scale;
  const std::vector<double> votes = votes_by_distance(share, fit);
  double lost = 0;
  lag.first_latest = fit.first;
  for (size_t i = fit.first; i < fit.last; ++i) {
    lost += votes[i];
    if (lost <= most) {
      lag.first_latest = i + 1;
    }
  }
  lost = 0;
  lag.first_earliest = fit.first;
  for (size_t i = fit.first; i-- > 0;) {
    lost -= votes[i];
    if (lost <= most) {
      lag.first_earliest = i;
    }
  }
}

bool find_lag(const OwnTimes& own, const Excess& excess, size_t rank, const LagOptions& options, Lag& lag) {
  const std::vector<double>& share = excess.share[rank];
  const Fit fit = fit_of(share, options.least_effect);
  if (fit.first > fit.last) {
    return false;
  }
  const std::vector<double> within = cut(share, fit.first, fit.last);
  const auto above = std::count_if(within.begin(), within.end(), [](double value) { return value > 0; });
  lag.rank = rank;
  lag.first = fit.first;
  // If the lag lasts almost to the end, extends it to the last column: ranks end at different times.
  lag.last = fit.last + kEnd + 1 >= share.size() ? share.size() - 1 : fit.last;
  lag.effect = fit.within;
  lag.noise = noise_of(excess, rank);
  lag.score = lag.effect * std::sqrt(static_cast<double>(within.size()) / alike_columns(deviations_of(share, fit))) /
              (kErrorOfMedian * lag.noise);
  lag.own_ns = median_of(cut(own[rank], lag.first, lag.last));
  lag.others_ns = median_of(cut(excess.others_ns[rank], lag.first, lag.last));
  bound_start(share, fit, lag);
  return lag.effect >= options.least_effect &&
         static_cast<double>(above) >= kPersistent * static_cast<double>(within.size()) &&
         lag.score >= options.least_score;
}

}  // namespace

double median_of(std::vector<double> values) {
  if (values.empty()) {
    return 0;
  }
  const auto half = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), half, values.end());
  const double upper = *half;
  return values.size() % 2 == 1 ? upper : (upper + *std::max_element(values.begin(), half)) / 2;
}

IntervalMedians interval_medians(const OwnTimes& own, size_t rank, size_t first, size_t last) {
  std::vector<double> others;
  std::vector<double> excess;
  std::vector<double> column(own.size());
  for (size_t i = first; i <= last; ++i) {
    for (size_t other = 0; other < own.size(); ++other) {
      column[other] = own[other][i];
    }
    std::sort(column.begin(), column.end());
    others.push_back(median_without(column, own[rank][i]));
    excess.push_back(own[rank][i] - others.back());
  }
  const double others_ns = median_of(std::move(others));
  return {.own_ns = median_of(cut(own[rank], first, last)),
          .others_ns = others_ns,
          .effect = median_of(std::move(excess)) / std::max(others_ns, 1.0)};
}

void sort_by_cost(std::vector<Lag>& lags) {
  const auto cost = [](const Lag& lag) {
    return (lag.own_ns - lag.others_ns) * static_cast<double>(lag.last - lag.first + 1);
  };
  std::sort(lags.begin(), lags.end(), [&](const Lag& a, const Lag& b) { return cost(a) > cost(b); });
}

std::vector<Lag> find_lags(const OwnTimes& own, const LagOptions& options) {
  std::vector<Lag> lags;
  if (own.size() < 2 || own.front().size() < kLeastLag) {
    return lags;
  }
  const Excess excess = excess_of(own);
  for (size_t rank = 0; rank < own.size(); ++rank) {
    Lag lag;
    if (find_lag(own, excess, rank, options, lag)) {
      lags.push_back(lag);
    }
  }
  sort_by_cost(lags);
  return lags;
}

}  // namespace gpuprof::analyze
