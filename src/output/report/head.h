// What a report says before its tables. Internal to the report.
#pragma once

#include "analyze/rows/summarize.h"
#include "output/report/page.h"

namespace gpuprof::output {

// What was recorded, what was lost, and how much GPU time there is in all.
void print_head(const analyze::Summary& summary, Page& page);

// How much of what is shown are nodes of CUDA graphs; nothing where there are none.
void print_graphs(const analyze::Summary& summary, Page& page);

}  // namespace gpuprof::output
