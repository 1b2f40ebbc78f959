// Which rank of a parallel job holds up the others, told from how long each of them works before it meets the others.
// Statistics alone: what these times are of does not matter here.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace gpuprof::analyze {

// One row a rank, one column a stretch of time; all rows are equally long. What a rank needs by itself, in ns.
using OwnTimes = std::vector<std::vector<double>>;

struct LagOptions {
  double least_effect = 0.05;  // of the median of the others
  double least_score = 4.5;    // median over its standard error
};

constexpr size_t kLeastLag = 3;  // columns, and a fifth of all (a third where it ends): shorter is an event and no lag

struct Lag {
  size_t rank = 0;
  size_t first = 0;           // column
  size_t first_earliest = 0;  // it may have begun from here
  size_t first_latest = 0;    // to here, both included
  size_t last = 0;            // included
  double effect = 0;  // how much more than the others (median), as a share of what they need; median over columns
  double noise = 0;   // of one column, alike
  double score = 0;
  double own_ns = 0;  // of a column: the median
  double others_ns = 0;
  bool by_work = false;    // score, noise and stretch are those of the GPU work at its least, not of the own times
  bool waited_for = true;  // else it is by_work, effect is of that work, and own times say that nobody waits for it
};

// Those that lag, the one that costs most first. A rank lags in the stretch of columns that a fit of two levels by
// least absolute deviations chooses, where it needs longer than the median of the others: in four columns of five, by
// `least_effect` at least in the median, and by `least_score` standard errors. The noise is the greater of how a rank's
// excess changes from column to column (and from four to four) and, with four ranks or more, of how the others differ
// among themselves.
std::vector<Lag> find_lags(const OwnTimes& own, const LagOptions& options);

void sort_by_cost(std::vector<Lag>& lags);  // the one that costs most first

struct Stretch {  // medians over columns
  double own_ns = 0;
  double others_ns = 0;
  double effect = 0;  // how much more than the others, as a share of what they need
};

// What a rank and the median of the others need from column to column, both included.
Stretch stretch_of(const OwnTimes& own, size_t rank, size_t first, size_t last);

double median_of(std::vector<double> values);  // 0 of none

}  // namespace gpuprof::analyze
