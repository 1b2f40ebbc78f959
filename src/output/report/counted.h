// Prints the events counted at instructions. Internal to the report.
#pragma once

#include "analyze/rows/summarize.h"
#include "base/text/text_stream.h"
#include "output/report/page.h"

namespace gpuprof::output {

void print_counted(const analyze::Summary& summary, Page& page);

void put_counted(const analyze::CountedTable& table, TextStream& stream);

}  // namespace gpuprof::output
