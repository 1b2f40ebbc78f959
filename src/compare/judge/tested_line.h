// A tested entity: its values per run, their difference, and the finding.
#pragma once

#include <span>

#include "compare/comparison.h"
#include "compare/judge/judge.h"
#include "compare/judge/line_test.h"

namespace gpuprof::compare {

inline constexpr double kOutside = 0.025;  // probability beyond each end of a 95% confidence interval

struct Means {
  double old_ns = 0;
  double new_ns = 0;
  double old_count = 0;
  double new_count = 0;
};

Means means_of(std::span<const Cost> costs, size_t old_runs);

struct TestedLine {
  Values values;
  EstimatedDifference difference;
  Finding finding;
};

// Fills the finding from the costs and from tested.values and tested.difference.
void describe(std::span<const Cost> costs, TestedLine& tested);

// Sets the verdict of a described finding: slower, faster, too_small or unchanged. `material_ns`: minimum difference.
void judge_finding(double level, const JudgeOptions& options, double material_ns, Finding& finding);

}  // namespace gpuprof::compare
