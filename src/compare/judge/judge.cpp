#include "compare/judge/judge.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <string_view>
#include <utility>

#include "base/text/utf8.h"
#include "compare/comparability_warnings.h"
#include "compare/comparable.h"
#include "compare/judge/judge_factor.h"
#include "compare/judge/judge_paths.h"
#include "compare/judge/judge_text.h"
#include "compare/judge/line_test.h"
#include "compare/judge/statistics.h"
#include "compare/judge/tested_line.h"
#include "compare/judge/waiver.h"

namespace gpuprof::compare {
namespace {

constexpr size_t kMany = 10;            // the common factor of a run is estimated only from at least this many kernels
constexpr size_t kManyVariances = 25;   // the prior of the variances is estimated only from at least this many kernels
constexpr size_t kPermutationRuns = 8;  // minimum number of runs per side for a permutation test
constexpr double kPower = 0.8;
// check_power() is less strict for a kernel whose share of all GPU time is smaller than this.
constexpr double kHeavyShare = 0.1;
// The clock of a device is used only if the run has at least this many samples of it.
constexpr uint64_t kClockSamples = 3;
constexpr double kInfinite = std::numeric_limits<double>::infinity();

// True if the mean times visibly disagree with the change of the geometric means. `factor_percent` is the common factor
// that the change of a kernel excludes. Considers only findings that the text output shows.
bool differs_from_means(const Finding& finding, double factor_percent) {
  constexpr double kVisible = 0.005;  // printed times have three digits
  const bool kernel = finding.what == Finding::What::kernel;
  if (finding.what == Finding::What::path || finding.old_ns <= 0 || !std::isfinite(finding.change_percent) ||
      (kernel && (finding.verdict == Verdict::same || finding.verdict == Verdict::too_small))) {
    return false;
  }
  const double factor = finding.what == Finding::What::total ? 1 : 1 + factor_percent / 100;
  const double ratio = (1 + finding.change_percent / 100) * factor;
  return std::abs(finding.new_ns / finding.old_ns - ratio) > kVisible * std::max(1.0, ratio);
}

// True if all kernels that both sides have are renamed. Ignores copies, which every program has.
bool has_only_renamed_kernels(const Comparison& runs) {
  bool renamed = false;
  for (const KernelLine& kernel : runs.kernels) {
    if (is_on_both_sides(kernel.change) && !kernel.name.starts_with('[')) {
      if (kernel.change != Change::renamed) {
        return false;
      }
      renamed = true;
    }
  }
  return renamed;
}

class Judge {
 public:
  Judge(const Comparison& runs, const JudgeOptions& options) : runs_(runs), options_(options) {
    const Means means = means_of(runs.totals, runs.old_runs);
    material_ns_ = std::max(means.old_ns, means.new_ns) * options.share_percent / 100;
  }

  Judgement run();
  Judgement run_self();

 private:
  [[nodiscard]] double detectable(const TestedLine& tested, double level) const;
  [[nodiscard]] bool weighs(std::span<const Cost> costs) const;
  void choose_kernels();
  void take_out_factor();
  void test_kernels();
  void test_totals(std::span<const double> factor, TestedLine& tested) const;
  void test_total();
  void test_unmatched();
  void list_one_sided();
  void waive();
  void second_opinion(TestedLine& tested) const;
  [[nodiscard]] std::string_view rule_of(const Finding& finding) const;
  void compare_cycles(std::span<const Cost> costs, double level, TestedLine& tested);
  void gather();
  void decide();
  void check_power();

  const Comparison& runs_;
  const JudgeOptions& options_;
  double material_ns_ = 0;  // smaller differences do not matter
  std::vector<TestedLine> kernels_;
  // For each run, the logarithm of the factor by which it slows all kernels; empty if no factor is removed.
  std::vector<double> factor_;
  TestedLine total_;
  std::optional<TestedLine> unmatched_;
  std::vector<Finding> one_sided_;
  std::map<uint32_t, std::vector<uint32_t>> paths_;  // maps a kernel to the indexes of its paths
  // In judge_self(), the number of runs per side that a later check will have; 0 in judge().
  size_t planned_runs_ = 0;
  Judgement judgement_;
};

// Returns the smallest change, in percent, that a test can detect. In judge_self(), that is a test with planned_runs_
// on each side.
double Judge::detectable(const TestedLine& tested, double level) const {
  EstimatedDifference difference = tested.difference;
  if (planned_runs_ > 0 && tested.values.testable()) {
    const auto planned = static_cast<double>(planned_runs_);
    const auto n_old = static_cast<double>(tested.values.old_side().size());
    const auto n_new = static_cast<double>(tested.values.new_side().size());
    difference.error *= std::sqrt(2 / planned / (1 / n_old + 1 / n_new));
    // Two halves of K runs have K - 2 degrees of freedom; two sides of K runs each have 2K - 2.
    difference.freedom += planned;
  }
  return tested.values.percent(difference.detectable(level, kPower));
}

bool Judge::weighs(std::span<const Cost> costs) const {
  const Means means = means_of(costs, runs_.old_runs);
  const double ns = std::max(means.old_ns, means.new_ns);
  return ns > 0 && ns >= material_ns_;
}

// Skips kernels that are too small for any material difference, because each additional test makes all tests stricter.
void Judge::choose_kernels() {
  for (uint32_t line = 0; line < runs_.kernels.size(); ++line) {
    const KernelLine& kernel = runs_.kernels[line];
    if (is_on_both_sides(kernel.change) && weighs(kernel.costs)) {
      TestedLine tested;
      tested.finding.what = Finding::What::kernel;
      tested.finding.line = line;
      tested.values = values_of(kernel.costs, runs_.old_runs, {});
      kernels_.push_back(std::move(tested));
    }
  }
  for (uint32_t path = 0; path < runs_.paths.size(); ++path) {
    paths_[runs_.paths[path].kernel].push_back(path);
  }
}

void Judge::take_out_factor() {
  std::vector<Values> lines;
  for (const TestedLine& kernel : kernels_) {
    if (kernel.values.logs) {
      lines.push_back(kernel.values);
    }
  }
  if (lines.size() < kMany) {
    judgement_.notes.push_back(few_kernels_text(kernels_.size()));
    return;
  }
  factor_ = common_factor(lines);
  judgement_.factor_removed = true;
  const std::span<const double> factor = factor_;
  judgement_.factor_percent =
      100 * std::expm1(mean(factor.subspan(runs_.old_runs)) - mean(factor.first(runs_.old_runs)));
  for (TestedLine& kernel : kernels_) {
    kernel.values = values_of(runs_.kernels[kernel.finding.line].costs, runs_.old_runs, factor_);
  }
}

void Judge::test_kernels() {
  std::vector<Values> lines;
  std::vector<double> variances;
  for (const TestedLine& kernel : kernels_) {
    if (kernel.values.logs && kernel.values.testable()) {
      lines.push_back(kernel.values);
      variances.push_back(pooled_variance(kernel.values));
    }
  }
  VariancePrior prior;
  if (lines.size() >= kManyVariances) {
    if (unequal_variances(lines)) {
      judgement_.notes.push_back(unequal_variances_text());
    } else {
      prior = fit_variance_prior(variances, static_cast<double>(runs_.runs.size()) - 2);
      judgement_.moderated = prior.freedom > 0;
    }
  }
  std::vector<double> slower;
  std::vector<double> faster;
  const double level = options_.false_discovery_rate / std::max<double>(1, static_cast<double>(kernels_.size()));
  std::vector<double> smallest;
  std::vector<double> deviations;
  for (TestedLine& kernel : kernels_) {
    kernel.difference = judgement_.moderated && kernel.values.logs ? shrunk_difference(kernel.values, prior)
                                                                   : plain_difference(kernel.values);
    describe(runs_.kernels[kernel.finding.line].costs, kernel);
    kernel.finding.minimum_detectable_percent = detectable(kernel, level);
    smallest.push_back(kernel.finding.minimum_detectable_percent);
    deviations.push_back(100 * std::expm1(std::sqrt(pooled_variance(kernel.values))));
    slower.push_back(kernel.finding.p);
    faster.push_back(1 - kernel.finding.p);
  }
  judgement_.material_percent = options_.material_percent;
  judgement_.minimum_detectable_percent = median(smallest);
  judgement_.noise_percent = median(deviations);
  slower = benjamini_hochberg(slower);
  faster = benjamini_hochberg(faster);
  for (size_t i = 0; i < kernels_.size(); ++i) {
    Finding& finding = kernels_[i].finding;
    finding.adjusted_p = finding.change_percent >= 0 ? slower[i] : faster[i];
    judge_finding(options_.false_discovery_rate, options_, material_ns_, finding);
    finding.adjusted_p = slower[i];
    second_opinion(kernels_[i]);
    if (!judgement_.factor_removed) {
      compare_cycles(runs_.kernels[finding.line].costs, level, kernels_[i]);
    }
  }
}

void Judge::second_opinion(TestedLine& tested) const {
  const bool told = tested.finding.what == Finding::What::total || tested.finding.verdict == Verdict::slower;
  if (told && std::min(runs_.old_runs, runs_.runs.size() - runs_.old_runs) >= kPermutationRuns) {
    const std::span<const double> old_side = tested.values.old_side();
    const std::span<const double> new_side = tested.values.new_side();
    tested.finding.permutation_p = permutation_p(old_side, new_side, options_.seed);
    tested.finding.permutations_drawn = draws_permutations(old_side.size(), new_side.size());
  }
}

// Returns the name to match with the globs of thresholds.
std::string_view Judge::rule_of(const Finding& finding) const {
  return finding.what == Finding::What::total ? kTotal : runs_.kernels[finding.line].name;
}

// Returns the logarithm of each run's mean clock. Returns no values if the clock of any run is unknown.
std::vector<double> judged_clocks(const Comparison& runs) {
  std::vector<double> clocks;
  for (const RunFacts* facts : runs.runs) {
    double sum = 0;
    double known = 0;
    for (const auto& [device, clock] : facts->clocks) {
      if (clock.samples >= kClockSamples && clock.mean_mhz > 0) {
        sum += clock.mean_mhz;
        known += 1;
      }
    }
    if (known == 0) {
      return {};
    }
    clocks.push_back(std::log(sum / known));
  }
  return clocks;
}

// Repeats the test in GPU cycles. If only time or only cycles increased, the clock may be the cause: sets
// Verdict::unclear.
void Judge::compare_cycles(std::span<const Cost> costs, double level, TestedLine& tested) {
  std::vector<double> clocks = judged_clocks(runs_);
  if (clocks.empty()) {
    return;
  }
  for (double& clock : clocks) {
    clock = -clock;  // values_of() subtracts the factor, so -log(clock) turns log(time) into log(cycles)
  }
  const Values cycles = values_of(costs, runs_.old_runs, clocks);
  const EstimatedDifference in_cycles = plain_difference(cycles);
  Finding& finding = tested.finding;
  finding.cycles_percent = cycles.percent(in_cycles.mean);
  const bool material = *finding.cycles_percent > options_.material_percent;
  if (finding.verdict == Verdict::slower && !material) {
    finding.verdict = Verdict::unclear;
    finding.note = only_in_time_text(finding);
  } else if (finding.verdict != Verdict::slower && material && in_cycles.p_above() <= level &&
             options_.thresholds.allowing(rule_of(finding), *finding.cycles_percent) == nullptr) {
    finding.verdict = Verdict::unclear;
    finding.note = only_in_cycles_text(finding);
  }
}

// Tests the total GPU times of the runs, from which `factor` is removed.
void Judge::test_totals(std::span<const double> factor, TestedLine& tested) const {
  tested.values = values_of(runs_.totals, runs_.old_runs, factor);
  tested.difference = plain_difference(tested.values);
  describe(runs_.totals, tested);
  Finding& finding = tested.finding;
  finding.minimum_detectable_percent = detectable(tested, options_.total_level);
  finding.adjusted_p = finding.change_percent >= 0 ? finding.p : 1 - finding.p;
  judge_finding(options_.total_level, options_, material_ns_, finding);
  finding.adjusted_p = finding.p;
}

void Judge::test_total() {
  total_.finding.what = Finding::What::total;
  test_totals({}, total_);
  second_opinion(total_);
  compare_cycles(runs_.totals, options_.total_level, total_);
}

// Tests how much kernels that only one side has change the total. Does not remove the common factor, because its noise
// could hide the change.
void Judge::test_unmatched() {
  std::vector<Cost> matched(runs_.runs.size());
  bool any = false;
  for (const KernelLine& kernel : runs_.kernels) {
    const bool one_sided = !is_on_both_sides(kernel.change);
    any = any || (one_sided && weighs(kernel.costs));
    for (size_t run = 0; run < matched.size() && !one_sided; ++run) {
      matched[run] += kernel.costs[run];
    }
  }
  const bool everywhere = std::all_of(matched.begin(), matched.end(), [](const Cost& cost) { return cost.ns > 0; });
  if (!any || !everywhere || factor_.empty()) {
    return;
  }
  unmatched_.emplace();
  unmatched_->finding.what = Finding::What::unmatched;
  test_totals(factor_, *unmatched_);
}

void Judge::list_one_sided() {
  for (uint32_t line = 0; line < runs_.kernels.size(); ++line) {
    const KernelLine& kernel = runs_.kernels[line];
    if (!is_on_both_sides(kernel.change) && weighs(kernel.costs)) {
      const Means means = means_of(kernel.costs, runs_.old_runs);
      Finding finding;
      finding.what = Finding::What::kernel;
      finding.line = line;
      finding.verdict = kernel.change == Change::appeared ? Verdict::appeared : Verdict::gone;
      finding.old_ns = means.old_ns;
      finding.new_ns = means.new_ns;
      finding.change_percent = kernel.change == Change::appeared ? kInfinite : -100;
      finding.low_percent = finding.change_percent;
      finding.high_percent = finding.change_percent;
      one_sided_.push_back(std::move(finding));
    }
  }
}

void Judge::waive() {
  std::vector<const Finding*> excused;
  for (TestedLine& kernel : kernels_) {
    waive_kernel(runs_, paths_[kernel.finding.line], options_, material_ns_, kernel.finding);
    if (kernel.finding.verdict == Verdict::excused) {
      excused.push_back(&kernel.finding);
    }
  }
  for (Finding& kernel : one_sided_) {
    waive_appeared(runs_, options_, total_.finding.old_ns, kernel);
    if (!kernel.note.empty()) {
      excused.push_back(&kernel);
    }
  }
  waive_total(runs_, excused, {}, options_, material_ns_, total_.finding);
  if (unmatched_) {
    waive_total(runs_, excused, factor_, options_, material_ns_, unmatched_->finding);
  }
}

void Judge::gather() {
  std::vector<Finding> lines = std::move(one_sided_);
  std::map<uint32_t, std::vector<Finding>> below;
  for (TestedLine& kernel : kernels_) {
    Finding& finding = kernel.finding;
    std::vector<Finding> told = judge_paths(runs_, paths_[finding.line], finding, factor_, options_, material_ns_);
    const bool moved =
        std::any_of(told.begin(), told.end(), [](const Finding& path) { return path.verdict == Verdict::moved; });
    if (moved && (finding.verdict == Verdict::same || finding.verdict == Verdict::too_small)) {
      finding.verdict = Verdict::moved;
    }
    if (finding.verdict == Verdict::slower || finding.verdict == Verdict::excused ||
        finding.verdict == Verdict::moved) {
      below[finding.line] = std::move(told);
    }
    lines.push_back(finding);
  }
  std::stable_sort(lines.begin(), lines.end(), [](const Finding& a, const Finding& b) {
    const bool slower_a = a.verdict == Verdict::slower;
    const bool slower_b = b.verdict == Verdict::slower;
    return slower_a != slower_b ? slower_a : a.new_ns - a.old_ns > b.new_ns - b.old_ns;
  });
  judgement_.findings.push_back(total_.finding);
  if (unmatched_) {
    judgement_.findings.push_back(unmatched_->finding);
  }
  for (Finding& line : lines) {
    std::vector<Finding> paths = std::move(below[line.line]);
    judgement_.findings.push_back(std::move(line));
    std::move(paths.begin(), paths.end(), std::back_inserter(judgement_.findings));
  }
  if (std::any_of(judgement_.findings.begin(), judgement_.findings.end(),
                  [this](const Finding& finding) { return differs_from_means(finding, judgement_.factor_percent); })) {
    judgement_.notes.push_back(geometric_means_text());
  }
}

// Returns how many runs per side suffice to show, with probability kPower, that an unchanged program is not slower by
// `effect`. Returns 0 if more than kMost runs are needed.
size_t runs_needed(double variance_of_run, double effect) {
  constexpr size_t kMost = 200;
  for (size_t runs = 3; runs <= kMost; ++runs) {
    const auto count = static_cast<double>(runs);
    const EstimatedDifference difference{
        .mean = 0, .error = std::sqrt(2 * variance_of_run / count), .freedom = 2 * count - 2};
    if (difference.detectable(kOutside, kPower) < effect) {
      return runs;
    }
  }
  return 0;
}

// Prevents a pass if the runs could have missed a slowdown of min_effect_percent, or of a larger percentage that is
// allowed: material_percent, or that of a threshold. A kernel with less than kHeavyShare of all GPU time may be slower
// by a larger percentage: by as many ns as a kernel with that share.
void Judge::check_power() {
  const size_t runs = std::min(runs_.old_runs, runs_.runs.size() - runs_.old_runs);
  const auto ask = [this, runs](const TestedLine& tested, double least, const std::string& name) {
    const Threshold* entry = options_.thresholds.find(rule_of(tested.finding));
    const double allowed = std::max({least, options_.material_percent, entry == nullptr ? 0 : entry->percent});
    if (tested.finding.verdict != Verdict::excused && !(tested.finding.high_percent < allowed)) {
      const size_t needed = runs_needed(pooled_variance(tested.values), log_change(allowed));
      judgement_.reasons.push_back(not_seen_text(name, tested.finding, allowed, needed > runs ? needed : 0,
                                                 allowed > options_.material_percent));
    }
  };
  ask(total_, options_.min_effect_percent, "the total");
  for (const TestedLine& kernel : kernels_) {
    const Finding& finding = kernel.finding;
    if (finding.old_ns > 0 && judgement_.reasons.empty()) {
      const double heavy_ns = kHeavyShare * total_.finding.old_ns;
      ask(kernel, options_.min_effect_percent * std::max(1.0, heavy_ns / finding.old_ns),
          runs_.kernels[finding.line].name);
    }
  }
}

void Judge::decide() {
  if (!judgement_.reasons.empty()) {
    return;  // data-quality problems are already a reason for "inconclusive", whatever the findings are
  }
  bool slower = false;
  for (const Finding& finding : judgement_.findings) {
    slower = slower || (finding.what != Finding::What::path && finding.verdict == Verdict::slower);
    if (finding.what != Finding::What::path && finding.verdict == Verdict::unclear) {
      judgement_.reasons.push_back(finding.note);
    }
  }
  if (slower) {
    judgement_.notes.insert(judgement_.notes.end(), judgement_.reasons.begin(), judgement_.reasons.end());
    judgement_.reasons.clear();
    judgement_.outcome = Outcome::regression;
    return;
  }
  if (std::string doubt = suspicious_factor(kernels_, factor_, runs_.old_runs, options_); !doubt.empty()) {
    judgement_.reasons.push_back(std::move(doubt));
  }
  check_power();
  judgement_.outcome = judgement_.reasons.empty() ? Outcome::pass : Outcome::inconclusive;
}

Judgement Judge::run() {
  judgement_.reasons = incomparable(runs_, options_, false);
  if (runs_.old_runs == 0 || runs_.old_runs >= runs_.runs.size()) {
    return std::move(judgement_);
  }
  if (has_only_renamed_kernels(runs_)) {
    judgement_.notes.push_back(only_renamed_text());
  }
  choose_kernels();
  take_out_factor();
  test_total();
  test_kernels();
  test_unmatched();
  list_one_sided();
  waive();
  gather();
  decide();
  for (const RunFacts* run : runs_.runs) {
    if (const std::string text = dropped_samples_text(*run); !text.empty()) {
      judgement_.notes.push_back(escaped(run->file) + ": " + text);
    }
  }
  return std::move(judgement_);
}

Judgement Judge::run_self() {
  judgement_.one_side = true;
  judgement_.reasons = incomparable(runs_, options_, true);
  if (runs_.old_runs > 0) {
    planned_runs_ = runs_.runs.size();
    choose_kernels();
    take_out_factor();
    test_total();
    test_kernels();
    if (total_.finding.verdict == Verdict::slower || total_.finding.verdict == Verdict::faster) {
      judgement_.notes.push_back(drift_text(total_.finding));
    }
    if (!total_.values.testable()) {
      judgement_.notes.push_back(few_runs_for_noise_text());
    }
    for (TestedLine& kernel : kernels_) {
      kernel.finding.verdict = Verdict::same;
    }
    total_.finding.verdict = Verdict::same;
    gather();
  }
  judgement_.outcome = judgement_.reasons.empty() ? Outcome::pass : Outcome::inconclusive;
  return std::move(judgement_);
}

}  // namespace

Judgement judge(const Comparison& runs, const JudgeOptions& options) {
  return Judge(runs, options).run();
}

Judgement judge_self(const Comparison& runs, const JudgeOptions& options) {
  Comparison halves = runs;
  halves.old_runs = runs.runs.size() / 2;
  for (KernelLine& kernel : halves.kernels) {
    kernel.change = Change::both;
  }
  for (PathLine& path : halves.paths) {
    path.change = Change::both;
  }
  return Judge(halves, options).run_self();
}

}  // namespace gpuprof::compare
