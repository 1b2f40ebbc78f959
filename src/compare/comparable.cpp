#include "compare/comparable.h"

#include <algorithm>
#include <cstdio>
#include <span>
#include <utility>

#include "analyze/subsets/subset_meta.h"
#include "base/text/numbers.h"
#include "base/text/utf8.h"
#include "compare/setup.h"

namespace gpuprof::compare {
namespace {

using Reasons = std::vector<std::string>;

std::string joined_texts(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) {
    text.append(text.empty() ? "" : ", ").append(escaped(name));
  }
  return text.empty() ? "none" : text;
}

std::string percent(double value) {
  char text[32];
  static_cast<void>(std::snprintf(text, sizeof(text), "%.3g%%", value));
  return text;
}

std::string part_or_whole(const RunFacts& run) {
  const std::string part = analyze::part_text(run.info.meta);
  return part.empty() ? "the complete profile" : escaped(part);
}

void check_run(const RunFacts& facts, const Cost& total, const JudgeOptions& options, Reasons& reasons) {
  using analyze::ProfileKind;
  const std::string file = escaped(facts.file);
  if (has_failed(facts)) {
    reasons.push_back(file + ": its program failed (exit status " + escaped(facts.exit_status) + ")");
  }
  if (facts.info.kind == ProfileKind::launch_counts || facts.info.kind == ProfileKind::stall_samples) {
    reasons.push_back(file + ": it has no GPU times, only counts");
  } else if (total.ns == 0) {
    reasons.push_back(file + ": it has no GPU work");
  }
  if (!facts.info.complete) {
    reasons.push_back(file + ": it is cut short: its END record is missing");
  }
  if (facts.info.skipped_bad > 0) {
    reasons.push_back(file + ": " + counted_text(facts.info.skipped_bad, "line") + " could not be read");
  }
  if (facts.lost_percent() > options.max_loss_percent) {
    reasons.push_back(file + ": " + facts.lost_text() + " of its GPU work was lost, more than " +
                      percent(options.max_loss_percent));
  }
}

// Checks whether the runs were recorded differently. Adds one reason for each kind of difference.
void check_setup(const Comparison& runs, Reasons& reasons) {
  const RunFacts& first = *runs.runs.front();
  const auto other = std::find_if(runs.runs.begin(), runs.runs.end(),
                                  [&first](const RunFacts* facts) { return facts->devices != first.devices; });
  if (other != runs.runs.end()) {
    reasons.push_back("not the same device: " + joined_texts(first.devices) + " (" + escaped(first.file) + ") and " +
                      joined_texts((*other)->devices) + " (" + escaped((*other)->file) + ")");
  }
  if (const std::vector<KnownDriver> drivers = known_drivers(runs.runs); drivers.size() > 1) {
    reasons.push_back("not the same driver: " + escaped(drivers[0].name) + " (" + escaped(drivers[0].run->file) +
                      ") and " + escaped(drivers[1].name) + " (" + escaped(drivers[1].run->file) + ")");
  }
  for (std::string& difference : recording_differences(runs.runs)) {
    reasons.push_back(std::move(difference));
  }
  const std::string part = analyze::part_text(first.info.meta);
  const auto another = std::find_if(runs.runs.begin(), runs.runs.end(), [&part](const RunFacts* facts) {
    return analyze::part_text(facts->info.meta) != part;
  });
  if (another != runs.runs.end()) {
    reasons.push_back("not the same subset of a run: " + part_or_whole(first) + " (" + escaped(first.file) + ") and " +
                      part_or_whole(**another) + " (" + escaped((*another)->file) + ")");
  }
}

// Returns "old" or "new" for a side that spends less than half of its time in kernels that exist on both sides; nullptr
// if no side does. One such side is enough: a program that stopped doing its work is not faster.
const char* two_programs(const Comparison& runs) {
  double all[2] = {0, 0};
  double matched[2] = {0, 0};
  for (size_t run = 0; run < runs.runs.size(); ++run) {
    const size_t side = run < runs.old_runs ? 0 : 1;
    all[side] += static_cast<double>(runs.totals[run].ns);
    for (const KernelLine& kernel : runs.kernels) {
      if (is_on_both_sides(kernel.change)) {
        matched[side] += static_cast<double>(kernel.costs[run].ns);
      }
    }
  }
  if (all[0] <= 0 || all[1] <= 0) {
    return nullptr;
  }
  return matched[0] < all[0] / 2 ? "old" : matched[1] < all[1] / 2 ? "new" : nullptr;
}

std::string too_few(const Comparison& runs, const JudgeOptions& options, bool one_side) {
  const size_t all = runs.runs.size();
  const std::string text =
      one_side ? counted_text(all, "run").append(" ").append(is_or_are(all))
               : std::to_string(runs.old_runs) + " old and " + counted_text(all - runs.old_runs, "new run") + " are";
  return text + " too few: at least " + std::to_string(options.min_runs) + (one_side ? "" : " each") +
         ", better 5 or 8";
}

}  // namespace

Reasons incomparable(const Comparison& runs, const JudgeOptions& options, bool one_side) {
  Reasons reasons;
  const size_t new_runs = runs.runs.size() - runs.old_runs;
  if (one_side ? runs.runs.size() < options.min_runs : std::min(runs.old_runs, new_runs) < options.min_runs) {
    reasons.push_back(too_few(runs, options, one_side));
  }
  if (runs.runs.empty()) {
    return reasons;
  }
  for (size_t run = 0; run < runs.runs.size(); ++run) {
    check_run(*runs.runs[run], runs.totals[run], options, reasons);
  }
  check_setup(runs, reasons);
  if (!one_side) {
    const std::span<const RunFacts* const> all(runs.runs);
    for (std::string& difference :
         failure_differences(all.first(runs.old_runs), all.subspan(runs.old_runs), options.max_loss_percent)) {
      reasons.push_back(std::move(difference));
    }
  }
  if (const char* side = one_side ? nullptr : two_programs(runs); side != nullptr) {
    reasons.push_back("these are two different programs: less than half of the GPU time of the " + std::string(side) +
                      " side is in kernels that both have");
  }
  return reasons;
}

}  // namespace gpuprof::compare
