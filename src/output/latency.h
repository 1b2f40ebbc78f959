// Writes launch latencies: histograms for a terminal, JSON for programs.
#pragma once

#include <cstddef>
#include <vector>

#include "analyze/rows/aggregate.h"
#include "analyze/rows/latency.h"
#include "base/text/text_stream.h"

namespace gpuprof::output {

// Writes percentiles by phase for each line, and a histogram with a row per power of two and a column per phase.
void latency_table(const std::vector<analyze::LatencyLine>& lines, size_t width, TextStream& stream);

// Writes one object with "schema_version", and "missing" as the report's JSON has it. Times are integers in ns. A
// bucket is [minimum, maximum, count].
void latency_json(const std::vector<analyze::LatencyLine>& lines, const analyze::ProfileInfo& info, TextStream& stream);

}  // namespace gpuprof::output
