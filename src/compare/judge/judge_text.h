// Messages that judge() uses.
#pragma once

#include <string>

#include "compare/judge/judge.h"

namespace gpuprof::compare {

std::string plain_percent(double percent);   // for a positive percentage: "2.1%", "over 100000%", "not known"
std::string signed_percent(double percent);  // for a change: "+2.1%", "-0.04%", "over +100000%", "not known"

std::string few_kernels_text(size_t kernels);
std::string unequal_variances_text();
std::string only_renamed_text();
std::string geometric_means_text();
std::string few_runs_for_noise_text();
std::string only_in_time_text(const Finding& finding);
std::string only_in_cycles_text(const Finding& finding);
std::string excused_text(const Thresholds& thresholds, const Threshold& entry);
// `percent` is the change that all `kernels` have in common. `apart` is the number of kernels that did not change with
// the others.
std::string most_slower_text(double percent, size_t kernels, size_t apart);
std::string drift_text(const Finding& total);
// `needed` is the number of runs per side that would show a slowdown of `percent`. If it is 0, the text omits it.
// `is_tested`: slowdowns of less than `percent` are tested, too.
std::string not_seen_text(const std::string& name, const Finding& finding, double percent, size_t needed,
                          bool is_tested);

}  // namespace gpuprof::compare
