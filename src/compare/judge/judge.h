// Decides, with a known rate of false alarms, whether new runs cost more GPU time. The statistical unit is the run.
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
  double material_percent = 2;          // ignore differences of at most this percentage
  double share_percent = 0.1;           // ignore differences below this percentage of all GPU time
  double false_discovery_rate = 0.013;  // expected share of false alarms among all kernels reported as changed
  double total_level = 0.002;  // level of the total's test; at most 2% of unchanged programs fail it or a kernel's test
  double min_effect_percent = 25;  // report "inconclusive" unless the runs could have shown a slowdown of this size
  size_t min_runs = 3;             // minimum number of runs per side
  double max_loss_percent = 1;     // limit for lost GPU work; more in any run makes the outcome inconclusive
  Thresholds thresholds;           // allowed slowdowns of kernels, functions or paths; may be empty
  uint64_t seed = 1;               // random seed for drawing permutations if there are too many to enumerate
};

// The values are exit codes of `check`.
enum class Outcome : uint8_t { pass = 0, regression = 1, inconclusive = 125 };

enum class Verdict : uint8_t { same, slower, faster, moved, appeared, gone, too_small, excused, unclear };

// A tested entity: the total, the effect of one-sided kernels on it, a kernel, or a path of a flagged or moved kernel.
struct Finding {
  enum class What : uint8_t { total, unmatched, kernel, path } what = What::total;
  uint32_t line = 0;  // index into Comparison::kernels or ::paths
  Verdict verdict = Verdict::same;
  double old_ns = 0;  // mean per run
  double new_ns = 0;
  // Percentages are infinite if unknown (one run per side) or if the old value is 0.
  double change_percent = 0;  // change of the geometric means; excludes the common factor if factor_removed
  double low_percent = 0;     // low_percent to high_percent: 95% confidence interval of change_percent
  double high_percent = 0;
  double p = 1;                           // p-value of the one-sided test for slower new runs
  double adjusted_p = 1;                  // Benjamini-Hochberg over kernels, Holm over the paths of a kernel
  std::optional<double> permutation_p;    // p-value of a permutation test; only with at least 8 runs per side
  bool permutations_drawn = false;        // permutation_p comes from a random sample of the permutations
  double launches_percent = 0;            // change caused by more launches
  double duration_percent = 0;            // change caused by longer launches
  std::optional<double> cycles_percent;   // change in GPU cycles, if clocks are known
  double minimum_detectable_percent = 0;  // minimum change that these runs show with a probability of 80%
  std::string note;                       // explains the verdict, such as why it is waived or unclear; may be empty
};

struct Judgement {
  bool one_side = false;  // result of judge_self()
  Outcome outcome = Outcome::inconclusive;
  std::vector<std::string> reasons;       // why the outcome is inconclusive, one per line
  std::vector<std::string> notes;         // other information for readers: few kernels, unequal variances
  std::vector<Finding> findings;          // total first, then kernels with their flagged paths, worst first
  bool moderated = false;                 // each kernel's variance was moved towards the average of all kernels
  bool factor_removed = false;            // kernel times exclude the factor by which a run slows all kernels
  double factor_percent = 0;              // common factor, new against old: "everything 2.1% slower"
  double noise_percent = 0;               // standard deviation between runs of one side: the median over all kernels
  double minimum_detectable_percent = 0;  // median of Finding::minimum_detectable_percent of all kernels
  double material_percent = 0;            // smaller differences are not regressions
};

Judgement judge(const Comparison& runs, const JudgeOptions& options);

// `check --self`: measures the noise of one program, and the smallest change that a check with this number of runs on
// each side could detect. Ignores the sides of `runs`. Findings compare the second half of the runs with the first.
Judgement judge_self(const Comparison& runs, const JudgeOptions& options);

}  // namespace gpuprof::compare
