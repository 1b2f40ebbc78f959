// Writes a summary as text (one screen of a terminal), or as JSON for programs.
#pragma once

#include <cstddef>

#include "analyze/rows/summarize.h"
#include "base/text/text_stream.h"

namespace gpuprof::output {

struct ReportOptions {
  size_t width = 80;  // characters per line; if it is below 80, some lines may be longer
  bool colors = false;
  bool full = false;  // show complete names and paths, regardless of the width
  bool explain = false;
  bool from_start = false;  // show all frames of call paths, including startup code
  // Approximate number of lines; 0: unlimited. To fit, tables are shortened, the less important ones first.
  size_t lines = 0;
};

// Writes one table per section, largest values first. Omits empty sections.
void report_text(const analyze::Summary& summary, const ReportOptions& options, TextStream& stream);

// Writes one object, described by docs/schema/report.json. Times are integers in ns. "schema_version" changes when a
// field is removed or changes its meaning.
void report_json(const analyze::Summary& summary, TextStream& stream);

}  // namespace gpuprof::output
