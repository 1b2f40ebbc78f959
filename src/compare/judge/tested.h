// One thing under test: its runs as values, their difference, and what there is to say of it.
#pragma once

#include <span>

#include "compare/comparison.h"
#include "compare/judge/judge.h"
#include "compare/judge/line_test.h"

namespace gpuprof::compare {

inline constexpr double kOutside = 0.025;  // of a 95% interval, at either end

// The mean of a run of either side.
struct Means {
  double old_ns = 0;
  double new_ns = 0;
  double old_count = 0;
  double new_count = 0;
};

Means means_of(std::span<const Cost> costs, size_t old_runs);

struct Tested {
  Values values;
  EstimatedDifference difference;
  Finding finding;
};

// Puts values and difference of these costs, which are `tested.values` already, into the finding.
void describe(std::span<const Cost> costs, Tested& tested);

// The verdict of a finding that is described and has its adjusted p: slower, faster, too_small or as it was.
// `material_ns`: what a difference must be at least.
void judge_finding(double level, const JudgeOptions& options, double material_ns, Finding& finding);

}  // namespace gpuprof::compare
