// A summary as text: tables for a terminal, and JSON for programs.
#pragma once

#include <cstddef>

#include "analyze/summarize.h"
#include "base/text_stream.h"

namespace gpuprof::output {

// Tables, the heaviest first, in lines of at most `width` characters where that leaves names some room; of devices,
// waits, allocations and of what the recording missed only where the profile has them.
void report_table(const analyze::Summary& summary, size_t width, TextStream& stream);

// One object; "schema_version" changes when a field changes its meaning or goes away. Times are integers, in ns.
void report_json(const analyze::Summary& summary, TextStream& stream);

}  // namespace gpuprof::output
