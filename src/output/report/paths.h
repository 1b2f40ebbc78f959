// Prints call paths, one frame per line. Internal to the report.
#pragma once

#include <vector>

#include "analyze/rows/summarize.h"
#include "output/report/page.h"

namespace gpuprof::output {

// Prints the frames of a call path below its first line, innermost first. Leaves out uninformative frames such as
// startup code. If there are too many frames, prefers marks (NVTX ranges, notes), then the program's own frames, then
// library frames in the table of functions. Shows the number of omitted frames, or only that some are omitted.
void print_frames(const analyze::CallPath& path, Page& page);

}  // namespace gpuprof::output
