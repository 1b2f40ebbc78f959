// Launch latencies as text: histograms for a terminal, and JSON for programs.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "analyze/latency.h"

namespace gpuprof::output {

// For each line its percentiles by phase, and a histogram whose rows are powers of two and whose columns are phases.
std::string latency_table(const std::vector<analyze::LatencyLine>& lines, size_t width);

// One object with "schema_version". Times are integers, in ns; a bucket is [its least value, its greatest, count].
std::string latency_json(const std::vector<analyze::LatencyLine>& lines);

}  // namespace gpuprof::output
