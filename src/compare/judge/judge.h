// Whether the new runs cost more GPU time than the old ones: a verdict with a known rate of false alarms. The unit is
// the run, never the launch. Pure: numbers in, verdict out.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "compare/comparison.h"
#include "compare/judge/thresholds.h"

namespace gpuprof::compare {

struct JudgeOptions {
  double material_percent = 2;          // a difference of this or less is never a regression
  double share_percent = 0.1;           // nor one of less than this of all GPU time
  double false_discovery_rate = 0.013;  // over kernels
  double total_level = 0.002;           // of the total; both together: an alarm in at most 2% of unchanged programs
  double min_effect_percent = 25;       // a slowdown of this much must have been seen, had there been one
  size_t min_runs = 3;                  // a side
  double max_loss_percent = 1;          // of GPU work; more in any run: inconclusive
  Thresholds thresholds;                // of single kernels, functions or paths; may be none
  uint64_t seed = 1;                    // of the permutations that are drawn where not all are counted
};

// The numbers are those of the exit codes of `check`.
enum class Outcome : uint8_t { pass = 0, regression = 1, inconclusive = 125 };

enum class Verdict : uint8_t { same, slower, faster, moved, appeared, gone, too_small, excused, unclear };

// One thing that was tested: the total, what kernels of one side only add to it, a kernel, or a path below a kernel
// that was flagged or has moved.
struct Finding {
  enum class What : uint8_t { total, unmatched, kernel, path } what = What::total;
  uint32_t line = 0;  // in Comparison::kernels or ::paths
  Verdict verdict = Verdict::same;
  double old_ns = 0;  // mean of a run
  double new_ns = 0;
  // Percentages are infinite where nothing is known (one run) or there was nothing before.
  double change_percent = 0;  // of the geometric means, without the runs' common factor where that was taken out
  double low_percent = 0;     // 95% confidence interval of it
  double high_percent = 0;
  double p = 1;                           // of the test, one-sided for slower
  double adjusted_p = 1;                  // BH over kernels, Holm over the paths of a kernel
  std::optional<double> permutation_p;    // second opinion by permutation, from 8 runs a side on
  bool permutations_drawn = false;        // it is of a sample of them: there are too many
  double launches_percent = 0;            // what of the change is more launches ...
  double duration_percent = 0;            // ... and what is longer ones
  std::optional<double> cycles_percent;   // the change in cycles, where clocks are known
  double minimum_detectable_percent = 0;  // at this number of runs, with a power of 80%
  std::string note;                       // why it is excused, unclear ...
};

struct Judgement {
  bool one_side = false;  // of judge_self()
  Outcome outcome = Outcome::inconclusive;
  std::vector<std::string> reasons;       // why it is inconclusive; a line each
  std::vector<std::string> notes;         // what else a reader must know: few kernels, unequal variances
  std::vector<Finding> findings;          // the total first, then kernels with their flagged paths, worst first
  bool moderated = false;                 // variances were shrunk across kernels
  bool factor_removed = false;            // the runs' common factor was taken out of kernels
  double factor_percent = 0;              // new against old: "everything 2.1% slower"
  double noise_percent = 0;               // median over kernels of the standard deviation of a run
  double minimum_detectable_percent = 0;  // of a typical kernel
  double material_percent = 0;            // less is no regression, however well it could be seen
};

Judgement judge(const Comparison& runs, const JudgeOptions& options);

// The noise floor of one program, and what as many runs of another one would show (`check --self`). The sides of `runs`
// do not matter. Changes are those of the second half of the runs against the first, in the order of Comparison::runs.
Judgement judge_self(const Comparison& runs, const JudgeOptions& options);

}  // namespace gpuprof::compare
