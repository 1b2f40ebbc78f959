// The trust footer: what a recording saw, and what it missed, in plain words.
#pragma once

#include <string>
#include <vector>

#include "analyze/rows/aggregate.h"

namespace gpuprof::output {

// Lines without a newline; none where the profile has no COVERAGE, or nothing was missed.
std::vector<std::string> trust_lines(const analyze::ProfileInfo& info);

// How whole and how deep the CPU stacks are; nothing where the recording did not say.
std::vector<std::string> stack_lines(const analyze::ProfileInfo& info);

// "7 of 1,000 launches (0.70%) have a truncated stack"; empty for none.
std::string truncated_text(const analyze::ProfileInfo& info);

// "2.91% of the samples were dropped, too many to say what kernels waited for". Empty where that is not so.
std::string dropped_samples_text(const analyze::ProfileInfo& info);

// "no line information in 12.00% of the samples: compile with -lineinfo". `in_zebins`: of those without, in the code of
// Intel's compiler, which has other options.
std::string without_lines_text(uint64_t without_lines, uint64_t samples, uint64_t in_zebins);

}  // namespace gpuprof::output
