// Metrics for --sass-metrics: CUPTI's names, and words for groups of metrics that belong together.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"

namespace gpuprof::record {

// Returns CUPTI's metric names, comma-separated and without duplicates. Errors are usage errors.
Result<std::string> counted_metrics(const std::vector<std::string>& words);

}  // namespace gpuprof::record
