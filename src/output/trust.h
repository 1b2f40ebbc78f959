// The trust footer: what a recording saw, and what it missed, in plain words.
#pragma once

#include <string>
#include <vector>

#include "analyze/aggregate.h"

namespace gpuprof::output {

// Lines without a newline; none where the profile has no COVERAGE, or nothing was missed.
std::vector<std::string> trust_lines(const analyze::ProfileInfo& info);

// "97.34%", rounded down: never more than it is.
std::string coverage_text(double percent);

}  // namespace gpuprof::output
