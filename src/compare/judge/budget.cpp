#include "compare/judge/budget.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "analyze/paths/work_paths.h"
#include "analyze/subsets/subset_meta.h"
#include "base/text/numbers.h"
#include "base/text/pattern.h"
#include "base/text/utf8.h"
#include "compare/setup.h"
#include "profile/loss.h"

namespace gpuprof::compare {
namespace {

constexpr std::string_view kTruncatedPath = "[truncated]";

struct Named {
  uint64_t ns = 0;
  std::string name;
};

bool is_of_gpu(const Budget& budget) {
  return budget.measure == analyze::Measure::gpu;
}

std::string time_text(const Budget& budget) {
  return is_of_gpu(budget) ? "GPU time" : "time";
}

// Returns what the recorder noted about missing samples and times of CPU threads; empty if nothing is missing.
std::string cpu_gap_of(const analyze::Meta& meta) {
  const auto note = std::find_if(meta.begin(), meta.end(), [](const auto& line) {
    return line.first == "note.off_cpu" || line.first.ends_with(".note.cpu_samples");
  });
  return note == meta.end() ? "" : escaped(note->second);
}

// Returns an element for each function of the run (for a kernel budget: each kernel): 1 if its name matches, else 0.
std::vector<char> matching(const Run& run, const Budget& budget, const Pattern& pattern) {
  std::vector<char> matches;
  if (!budget.of_function) {
    for (const Kernel& kernel : run.kernels) {
      matches.push_back(pattern.matches(kernel.name) ? 1 : 0);
    }
    return matches;
  }
  for (const Function& function : run.functions) {
    const bool by_file = !function.file.empty() && pattern.matches(function.name + " (" + function.file + ")");
    matches.push_back(by_file || pattern.matches(function.name) ? 1 : 0);
  }
  return matches;
}

// Adds each path once, even if several of its functions match.
uint64_t cost_of(const Run& run, const Budget& budget, const std::vector<char>& matches) {
  uint64_t ns = 0;
  for (const Path& path : run.paths) {
    const bool counts = budget.of_function ? std::any_of(path.functions.begin(), path.functions.end(),
                                                         [&](uint32_t f) { return matches[f] != 0; })
                                           : matches[path.kernel] != 0;
    ns += counts ? path.cost.ns : 0;  // cannot overflow, because the sum of all paths fits 64 bits
  }
  return ns;
}

// True if the path has no CPU stack or an incomplete one, so that functions may be missing. Frames that options hide
// count as present.
bool lacks_stack(const Run& run, const Path& path) {
  bool whole = false;
  for (const uint32_t f : path.functions) {
    const Function& function = run.functions[f];
    if (function.note && function.name == kTruncatedPath) {
      return true;
    }
    whole = whole || !function.note || function.name == analyze::kAllHidden;
  }
  return !whole;
}

// Sums the work that matching functions may have launched, although its stacks do not show them.
uint64_t cost_without_stack(const Run& run, const Budget& budget, const std::vector<char>& matches) {
  uint64_t ns = 0;
  for (const Path& path : run.paths) {
    const bool counted =
        std::any_of(path.functions.begin(), path.functions.end(), [&](uint32_t f) { return matches[f] != 0; });
    // Cannot overflow, because the sum of all paths fits 64 bits.
    ns += budget.of_function && !counted && lacks_stack(run, path) ? path.cost.ns : 0;
  }
  return ns;
}

std::vector<std::string> names_of(const Run& run, const Budget& budget, const std::vector<char>& matches) {
  std::vector<Named> found;
  for (size_t i = 0; i < matches.size(); ++i) {
    if (matches[i] != 0) {
      found.push_back(budget.of_function ? Named{run.functions[i].total.ns, run.functions[i].name}
                                         : Named{run.kernels[i].cost.ns, run.kernels[i].name});
    }
  }
  std::stable_sort(found.begin(), found.end(), [](const Named& a, const Named& b) { return a.ns > b.ns; });
  std::vector<std::string> names;
  names.reserve(found.size());
  for (Named& one : found) {
    names.push_back(std::move(one.name));
  }
  return names;
}

// Returns what a profile lacks, except by the options that limited the recording to a part of the run.
std::string gap_of(const Run& run, double max_loss_percent) {
  if (!run.facts.info.complete) {
    return "the profile is cut short";
  }
  if (const uint64_t bad = run.facts.info.skipped_bad; bad > 0) {
    return counted_text(bad, "line") + " of its profile could not be read";
  }
  if (run.facts.info.is_estimate()) {
    return "its numbers are estimates (--max-overhead)";
  }
  if (run.facts.measure != analyze::Measure::gpu) {
    if (std::string gap = cpu_gap_of(run.facts.info.meta); !gap.empty()) {
      return gap;
    }
  } else if (run.facts.lost_percent() > max_loss_percent) {
    return run.facts.lost_text() + " of the GPU work was lost";
  }
  if (has_failed(run.facts)) {
    return "the program ended with " + run.facts.exit_status;
  }
  const auto refused = run.facts.info.losses.find(std::string(profile::word(profile::LossReason::process_refused)));
  if (refused != run.facts.info.losses.end() && refused->second > 0) {
    return counted_text(refused->second, "process") + " of its run " + (refused->second == 1 ? "was" : "were") +
           " not recorded";
  }
  return analyze::part_warning(run.facts.info.meta);
}

std::string chosen_part_text(const RunFacts& facts) {
  const std::string window = analyze::recording_window(facts.info.meta);
  const std::string backends = analyze::recorded_backends(facts.info.meta);
  return "the budget was held only in the recorded " +
         (window.empty() || facts.window_ns == 0 ? "part" : duration_text(facts.window_ns)) +
         " of the program's run (" + window + (window.empty() || backends.empty() ? "" : "; ") + backends + ")";
}

}  // namespace

Result<BudgetResult> check_budget(std::span<const Run> runs, const Budget& budget, double max_loss_percent) {
  const auto pattern = Pattern::compile(budget.option(), budget.regex);
  if (!pattern) {
    return pattern.error();
  }
  BudgetResult result;
  result.outcome = Outcome::pass;
  bool over = false;
  bool unsure = false;
  for (const Run& run : runs) {
    const auto matches = matching(run, budget, *pattern);
    RunBudget one{run.facts.file, cost_of(run, budget, matches), names_of(run, budget, matches),
                  gap_of(run, max_loss_percent)};
    if (one.matched.empty()) {
      return Error{"no " +
                       std::string(budget.of_function  ? "function"
                                   : is_of_gpu(budget) ? "kernel"
                                                       : "reason") +
                       " in " + run.facts.file + " matches '" + escaped(budget.regex) +
                       "', so the budget could never be exceeded",
                   "`gpuprof report` lists the names; regular expressions have the syntax of RE2", kExitUsage};
    }
    const bool is_estimate = run.facts.info.is_estimate();
    over = over || (one.ns > budget.max_ns && !is_estimate);
    const uint64_t unknown = cost_without_stack(run, budget, matches);
    if (one.gap.empty() && one.ns <= budget.max_ns && unknown > budget.max_ns - one.ns) {
      one.gap = duration_text(unknown) + " of its " + time_text(budget) + " has no complete CPU stack";
    }
    const auto& meta = run.facts.info.meta;
    bool passes_in_part = false;
    if (const std::string part = analyze::recorded_part_text(meta); one.gap.empty() && !part.empty()) {
      one.gap = "recorded " + part;
      passes_in_part = one.ns <= budget.max_ns && analyze::part_of_run(meta) == analyze::RunPart::chosen;
    }
    unsure = unsure || (!one.gap.empty() && !passes_in_part);
    if (passes_in_part) {
      result.reasons.push_back(one.file + ": " + chosen_part_text(run.facts));
    } else if (!one.gap.empty()) {
      result.reasons.push_back(one.file + ": " + one.gap + ", so its true " + time_text(budget) + " may be " +
                               (is_estimate ? "higher or lower" : "higher"));
    }
    result.runs.push_back(std::move(one));
  }
  result.outcome = over ? Outcome::regression : unsure || result.runs.empty() ? Outcome::inconclusive : Outcome::pass;
  return result;
}

}  // namespace gpuprof::compare
