// Launch latencies as text: histograms for a terminal, and JSON for programs.
#pragma once

#include <cstddef>
#include <vector>

#include "analyze/rows/latency.h"
#include "base/text/text_stream.h"

namespace gpuprof::output {

// For each line its percentiles by phase, and a histogram whose rows are powers of two and whose columns are phases.
void latency_table(const std::vector<analyze::LatencyLine>& lines, size_t width, TextStream& stream);

// One object with "schema_version". Times are integers, in ns; a bucket is [its least value, its greatest, count].
void latency_json(const std::vector<analyze::LatencyLine>& lines, TextStream& stream);

}  // namespace gpuprof::output
