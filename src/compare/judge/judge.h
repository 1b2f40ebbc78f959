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
  double material_percent = 2;          // differences of at most this percentage do not matter
  double share_percent = 0.1;           // differences below this percentage of all GPU time do not matter
  double false_discovery_rate = 0.013;  // expected share of false alarms among the kernels that are reported as changed
  // Significance level for the test of the total; at most 2% of unchanged programs fail this test or one of a kernel.
  double total_level = 0.002;
  // The outcome is "inconclusive" unless the runs could have shown a slowdown of this size.
  double min_effect_percent = 25;
  size_t min_runs = 3;  // minimum number of runs per side
  // A run that lost more than this percentage of its GPU work makes the outcome inconclusive.
  double max_loss_percent = 1;
  Thresholds thresholds;
  // Random seed; if there are too many permutations to examine all, random ones are drawn.
  uint64_t seed = 1;
};

// The values are exit codes of `check`.
enum class Outcome : uint8_t { pass = 0, regression = 1, inconclusive = 125 };

enum class Verdict : uint8_t { same, slower, faster, moved, appeared, gone, too_small, excused, unclear };

// What was tested: the total, the effect on it of kernels that one side lacks, a kernel, or a path of a kernel that is
// reported or moved.
struct Finding {
  enum class What : uint8_t { total, unmatched, kernel, path } what = What::total;
  uint32_t line = 0;  // index into Comparison::kernels or ::paths
  Verdict verdict = Verdict::same;
  double old_ns = 0;  // mean GPU time per run
  double new_ns = 0;
  // These percentages are infinite if the change is unknown (one run per side) or the old value is 0.
  double change_percent = 0;  // change of the geometric means; excludes the common factor if factor_removed is set
  // low_percent and high_percent are the ends of the 95% confidence interval of change_percent.
  double low_percent = 0;
  double high_percent = 0;
  double p = 1;  // p-value of the one-sided test that the new runs are slower
  // `p` adjusted for the number of tests: by Benjamini-Hochberg for kernels, by Holm for the paths of a kernel.
  double adjusted_p = 1;
  std::optional<double> permutation_p;    // p-value of a permutation test; only with at least 8 runs per side
  bool permutations_drawn = false;        // true: permutation_p was computed from a random sample of the permutations
  double launches_percent = 0;            // change caused by more launches
  double duration_percent = 0;            // change caused by longer launches
  std::optional<double> cycles_percent;   // change in GPU cycles; nullopt if the clocks are unknown
  double minimum_detectable_percent = 0;  // smallest change that these runs would show with a probability of 80%
  std::string note;                       // explains the verdict, for example why it is waived or unclear; may be empty
};

struct Judgement {
  bool one_side = false;  // true: judge_self() made this judgement
  Outcome outcome = Outcome::inconclusive;
  std::vector<std::string> reasons;  // why the outcome is inconclusive, one per line
  std::vector<std::string> notes;    // other facts for readers, such as few kernels or unequal variances
  std::vector<Finding> findings;     // the total first, then the kernels with their flagged paths, the worst first
  // True: each kernel's variance was moved towards the average variance of all kernels.
  bool moderated = false;
  bool factor_removed = false;  // true: kernel times exclude the factor by which a run slows all kernels
  double factor_percent = 0;    // change of the common factor from old to new runs: "everything 2.1% slower"
  // Standard deviation between the runs of one side: the median over all kernels.
  double noise_percent = 0;
  double minimum_detectable_percent = 0;  // median of Finding::minimum_detectable_percent of all kernels
  double material_percent = 0;            // a slowdown below this percentage is not a regression
};

Judgement judge(const Comparison& runs, const JudgeOptions& options);

inline constexpr size_t kLeastRunsForNoise = 4;  // two runs for each half

// `check --self`: measures the noise of one program, and the smallest change that a check with this number of runs on
// each side could detect. Ignores the sides of `runs`. Findings compare the second half of the runs with the first.
Judgement judge_self(const Comparison& runs, const JudgeOptions& options);

}  // namespace gpuprof::compare
