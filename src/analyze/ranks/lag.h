// Finds the ranks of a parallel job that delay the others, from the time that each rank works before it meets the
// others. Contains only statistics: the meaning of the times does not matter.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace gpuprof::analyze {

// Time that a rank needs by itself, in ns: one row per rank, one column per block of time. All rows have equal length.
using OwnTimes = std::vector<std::vector<double>>;

struct LagOptions {
  double least_effect = 0.05;  // minimum excess, as a share of the others' median
  double least_score = 4.5;    // minimum ratio of the median excess to its standard error
};

// Minimum number of columns of a lag; with many columns, lag.cpp requires a share of all columns.
constexpr size_t kLeastLag = 3;

struct Lag {
  size_t rank = 0;
  size_t first = 0;
  size_t first_earliest = 0;  // the lag began between the columns first_earliest and first_latest
  size_t first_latest = 0;
  size_t last = 0;
  double effect = 0;  // excess over the others' median, relative to that median: the median over the lag's columns
  double noise = 0;   // noise of one column, in the unit of `effect`
  double score = 0;
  double own_ns = 0;  // the rank's own time per column: median over the lag's columns
  double others_ns = 0;
  bool by_work = false;  // score, noise and columns were computed from GPU work instead of own times
  // False: own times do not show that others wait for this rank, so `effect` compares GPU work (by_work).
  bool waited_for = true;
};

// Finds the lagging ranks, the most expensive one first. A fit of two levels by least absolute deviations chooses the
// columns of a lag. The rank must exceed the others' median in four of five of these columns. The median excess must be
// at least `least_effect` and `least_score` standard errors. The noise is the variation of the rank's excess between
// columns or groups of four columns. With four ranks or more, the noise is at least the spread among the others.
std::vector<Lag> find_lags(const OwnTimes& own, const LagOptions& options);

void sort_by_cost(std::vector<Lag>& lags);

struct IntervalMedians {  // medians over columns
  double own_ns = 0;
  double others_ns = 0;
  double effect = 0;
};

// Returns what a rank and the median of the others need in the columns `first` to `last`, inclusive.
IntervalMedians interval_medians(const OwnTimes& own, size_t rank, size_t first, size_t last);

double median_of(std::vector<double> values);  // returns 0 for an empty list

}  // namespace gpuprof::analyze
