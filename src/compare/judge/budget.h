// `check --function REGEX --max 250ms`: limits the GPU time below matching functions or in matching kernels. Runs of
// another measure have its times instead: `check --weight idle --function REGEX --max 250ms`.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "compare/judge/judge.h"
#include "compare/run.h"

namespace gpuprof::compare {

struct Budget {
  bool of_function = true;  // `regex` matches functions, not kernels
  std::string regex;
  uint64_t max_ns = 0;                               // maximum time per run; a run with exactly this time passes
  analyze::Measure measure = analyze::Measure::gpu;  // that of the runs

  [[nodiscard]] const char* option() const { return of_function ? "--function" : "--kernel"; }
};

struct RunBudget {
  std::string file;
  uint64_t ns = 0;
  std::vector<std::string> matched;  // matching names, heaviest first
  // Why the true time may be higher than the measured one; empty if the measured time is exact.
  std::string gap;
};

struct BudgetResult {
  Outcome outcome = Outcome::inconclusive;  // outcome of the worst run
  std::vector<RunBudget> runs;
  std::vector<std::string> reasons;  // why the outcome is inconclusive, or what else limits it
};

// Checks each run. Fails with kExitUsage if nothing in a run matches, because such a budget could never be exceeded.
Result<BudgetResult> check_budget(std::span<const Run> runs, const Budget& budget, double max_loss_percent);

}  // namespace gpuprof::compare
