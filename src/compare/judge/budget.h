// `check --function REGEX --max 250ms`: how much GPU time may be spent below matching functions, or in matching
// kernels.
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
  bool of_function = true;  // false: of kernels
  std::string regex;
  uint64_t max_ns = 0;  // a run may have as much

  [[nodiscard]] const char* option() const { return of_function ? "--function" : "--kernel"; }
};

struct RunBudget {
  std::string file;
  uint64_t ns = 0;
  std::vector<std::string> matched;  // names, heaviest first
  std::string gap;                   // why the run may have had more; empty: it had not
};

struct BudgetResult {
  Outcome outcome = Outcome::inconclusive;  // of the worst run
  std::vector<RunBudget> runs;
  std::vector<std::string> reasons;  // why it is inconclusive
};

// Where a run has nothing that matches, that is an Error with the exit code kExitUsage: a budget that nothing is held
// to would always be kept. `max_loss_percent` as of JudgeOptions.
Result<BudgetResult> hold_to_budget(std::span<const Run> runs, const Budget& budget, double max_loss_percent);

}  // namespace gpuprof::compare
