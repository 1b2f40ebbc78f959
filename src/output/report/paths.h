// Call paths, one frame a line. Internal to the report.
#pragma once

#include <vector>

#include "analyze/rows/summarize.h"
#include "output/report/page.h"

namespace gpuprof::output {

// The frames below a line of a call path, the caller first. Frames that tell nothing are left out. Of a path that is
// too long the marks stay, then the user's own frames (the innermost and the outermost first), then those of libraries
// that the table of functions has, then their other ones, the innermost first; how many are missing is said where they
// are, or that some are.
void print_frames(const analyze::CallPath& path, Page& page);

}  // namespace gpuprof::output
