// A report that is no longer than a reader wants.
#pragma once

#include "analyze/summarize.h"

namespace gpuprof::output {

// Takes the last line of the table that can spare one best: the later tables before the earlier ones, and call paths,
// which are several lines each, to one only when nothing else is left. False where every table has what it keeps.
bool give_up_line(analyze::Summary& summary);

}  // namespace gpuprof::output
