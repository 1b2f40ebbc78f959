// Parses --sass-metrics: a word is either CUPTI's name of a metric, or gpuprof's name for a group of metrics.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"

namespace gpuprof::record {

// Returns CUPTI's metric names, comma-separated and without duplicates. Errors are usage errors.
Result<std::string> counted_metrics(const std::vector<std::string>& words);

}  // namespace gpuprof::record
