// Prints the head of a report, above its tables. Internal to the report.
#pragma once

#include "analyze/rows/summarize.h"
#include "output/report/page.h"

namespace gpuprof::output {

// Prints how the profile was recorded, what was lost, and the total GPU time.
void print_head(const analyze::Summary& summary, Page& page);

// Prints how much of the shown GPU work ran in CUDA graphs. Prints nothing if none did.
void print_graphs(const analyze::Summary& summary, Page& page);

}  // namespace gpuprof::output
