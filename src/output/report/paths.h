// Prints call paths, one frame per line. Internal to the report.
#pragma once

#include <vector>

#include "analyze/rows/summarize.h"
#include "output/report/page.h"

namespace gpuprof::output {

// Prints the frames of a call path below its first line, innermost first, without frames that identify nothing. If
// there are too many, keeps marks first, then the user's own frames, the innermost and the outermost before others.
// Library frames follow, those in the table of functions before others. Shows the number of omitted frames, or only
// that some are omitted.
void print_frames(const analyze::CallPath& path, Page& page);

}  // namespace gpuprof::output
