// Parses the words of --sass-metrics. A word is a CUPTI metric name or the name of a group of metrics in gpuprof.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"

namespace gpuprof::record {

// Returns CUPTI's metric names, comma-separated and without duplicates. On error, the exit code is that of wrong usage.
Result<std::string> counted_metrics(const std::vector<std::string>& words);

}  // namespace gpuprof::record
