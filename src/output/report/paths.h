// Prints call paths, one frame per line. Internal to the report.
#pragma once

#include <vector>

#include "analyze/rows/summarize.h"
#include "output/report/page.h"

namespace gpuprof::output {

// Prints the frames of a call path below its first line, the innermost first. Omits frames that identify nothing. If
// the path is too long, it keeps marks first, then the user's own frames (the innermost and the outermost before
// others), then library frames that are in the table of functions, then other library frames from the innermost on.
// It shows the number of omitted frames in their place, or only that some are omitted.
void print_frames(const analyze::CallPath& path, Page& page);

}  // namespace gpuprof::output
