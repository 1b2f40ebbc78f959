// Prints when the thread blocks of probed kernels ran. Internal to the report.
#pragma once

#include "analyze/rows/summarize.h"
#include "base/text/text_stream.h"
#include "output/report/page.h"

namespace gpuprof::output {

void print_blocks(const analyze::Summary& summary, Page& page);

void put_blocks(const analyze::BlockLine& line, TextStream& stream);

}  // namespace gpuprof::output
