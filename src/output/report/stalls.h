// Prints the stall reasons of kernels. Internal to the report.
#pragma once

#include "analyze/rows/summarize.h"
#include "base/text/text_stream.h"
#include "output/report/page.h"

namespace gpuprof::output {

void print_stalls(const analyze::Summary& summary, Page& page);

void put_stalls(const analyze::KernelStalls& stalls, TextStream& stream);

}  // namespace gpuprof::output
