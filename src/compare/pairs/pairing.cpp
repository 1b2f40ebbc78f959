#include "compare/pairs/pairing.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

namespace gpuprof::compare {
namespace {

// Minimum ratio of the mean times of two matching kernels. kLeastUnplacedRatio applies if Candidate::placed is false.
constexpr double kLeastMeanRatio = 0.1;
constexpr double kLeastUnplacedRatio = 0.5;
constexpr double kLeastSharedParents = 0.5;
constexpr double kLeastLikeness = 0.5;  // minimum likeness() of a pair, if several pairs are possible
constexpr double kRivalLikeness = 0.9;  // a pair is rejected if a rival pair has at least this share of its likeness
// A candidate is compared with so many candidates of shorter mean time, and as many of longer mean time.
constexpr std::ptrdiff_t kNeighbours = 4;

using Pairs = std::vector<std::pair<uint32_t, uint32_t>>;
using Group = std::vector<const Candidate*>;

double ratio(double a, double b) {
  const double most = std::max(a, b);
  return most <= 0 ? 1 : std::min(a, b) / most;
}

// Returns the share of launches that come from callers of both candidates.
double shared_parents(const Candidate& a, const Candidate& b) {
  double shared = 0;
  double all = 0;
  auto x = a.parents.begin();
  auto y = b.parents.begin();
  while (x != a.parents.end() || y != b.parents.end()) {
    if (y == b.parents.end() || (x != a.parents.end() && x->id < y->id)) {
      all += (x++)->count;
    } else if (x == a.parents.end() || y->id < x->id) {
      all += (y++)->count;
    } else {
      shared += std::min(x->count, y->count);
      all += std::max(x->count, y->count);
      ++x;
      ++y;
    }
  }
  return all <= 0 ? 0 : shared / all;
}

// True if the names begin alike: "saxpy" and "saxpy2", but not "reduce_kernel" and "softmax_kernel".
bool similar_names(const Candidate& a, const Candidate& b) {
  const auto [end, unused] = std::mismatch(a.name.begin(), a.name.end(), b.name.begin(), b.name.end());
  const auto same = static_cast<size_t>(end - a.name.begin());
  return same > 0 && 2 * same >= std::max(a.name.size(), b.name.size());
}

bool plausible(const Candidate& a, const Candidate& b) {
  if (!(a.same_code && b.same_code) && !similar_names(a, b)) {
    return false;
  }
  const double least = a.placed && b.placed ? kLeastMeanRatio : kLeastUnplacedRatio;
  return ratio(a.mean_ns, b.mean_ns) >= least && shared_parents(a, b) >= kLeastSharedParents;
}

bool shorter(const Candidate* a, const Candidate* b) {
  return a->mean_ns != b->mean_ns ? a->mean_ns < b->mean_ns : a->line < b->line;
}

// Returns how similar the callers and the mean times are, from 0 to 1.
double likeness(const Candidate& a, const Candidate& b) {
  return plausible(a, b) ? shared_parents(a, b) * std::sqrt(ratio(a.mean_ns, b.mean_ns)) : 0;
}

struct Scored {
  double score = 0;
  size_t old_at = 0;
  size_t new_at = 0;
};

// Scores each old candidate with the new candidates whose mean times are nearest.
std::vector<Scored> scored_pairs(const Group& old_ones, const Group& new_ones) {
  std::vector<Scored> pairs;
  for (size_t at = 0; at < old_ones.size(); ++at) {
    const auto near = std::lower_bound(new_ones.begin(), new_ones.end(), old_ones[at], shorter);
    const auto begin = near - std::min(kNeighbours, near - new_ones.begin());
    const auto end = near + std::min(kNeighbours, new_ones.end() - near);
    for (auto other = begin; other != end; ++other) {
      if (const double score = likeness(*old_ones[at], **other); score >= kLeastLikeness) {
        pairs.push_back({score, at, static_cast<size_t>(other - new_ones.begin())});
      }
    }
  }
  std::sort(pairs.begin(), pairs.end(), [](const Scored& a, const Scored& b) {
    return a.score != b.score ? a.score > b.score : a.old_at != b.old_at ? a.old_at < b.old_at : a.new_at < b.new_at;
  });
  return pairs;
}

// Pairs candidates that are each other's best match. Skips a pair if one of them has another match nearly as good.
Pairs pair_best(const Group& old_ones, const Group& new_ones) {
  const std::vector<Scored> pairs = scored_pairs(old_ones, new_ones);
  std::vector<double> best_old(old_ones.size(), -1);
  std::vector<double> best_new(new_ones.size(), -1);
  std::vector<size_t> rivals_old(old_ones.size(), 0);
  std::vector<size_t> rivals_new(new_ones.size(), 0);
  for (const Scored& pair : pairs) {
    best_old[pair.old_at] = std::max(best_old[pair.old_at], pair.score);
    best_new[pair.new_at] = std::max(best_new[pair.new_at], pair.score);
    rivals_old[pair.old_at] += pair.score >= kRivalLikeness * best_old[pair.old_at] ? 1 : 0;
    rivals_new[pair.new_at] += pair.score >= kRivalLikeness * best_new[pair.new_at] ? 1 : 0;
  }
  Pairs found;
  for (const Scored& pair : pairs) {
    const bool best = pair.score >= best_old[pair.old_at] && pair.score >= best_new[pair.new_at];
    if (best && rivals_old[pair.old_at] == 1 && rivals_new[pair.new_at] == 1) {
      found.emplace_back(old_ones[pair.old_at]->line, new_ones[pair.new_at]->line);
    }
  }
  return found;
}

}  // namespace

Pairs pair_up(Group old_ones, Group new_ones) {
  std::sort(old_ones.begin(), old_ones.end(), shorter);
  std::sort(new_ones.begin(), new_ones.end(), shorter);
  if (old_ones.size() != new_ones.size()) {
    return pair_best(old_ones, new_ones);
  }
  Pairs pairs;
  for (size_t at = 0; at < old_ones.size(); ++at) {
    if (plausible(*old_ones[at], *new_ones[at])) {
      pairs.emplace_back(old_ones[at]->line, new_ones[at]->line);
    }
  }
  return pairs;
}

}  // namespace gpuprof::compare
