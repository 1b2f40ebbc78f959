// A summary as text: one screen for a terminal, and JSON for programs.
#pragma once

#include <cstddef>

#include "analyze/rows/summarize.h"
#include "base/text/text_stream.h"

namespace gpuprof::output {

struct ReportOptions {
  size_t width = 80;        // no line is longer from 80 on; in less, what is told in a sentence may be
  bool colors = false;      // with the escape sequences of a terminal
  bool full = false;        // names and paths as they are in the profile, whatever the width
  bool explain = false;     // what each stall reason that is shown means
  bool from_start = false;  // call paths with the frames that tell nothing
  // About how many lines there may be in all, 0 for any number: tables give up lines, the later ones first, but keep
  // some each.
  size_t lines = 0;
};

// What a section has is one table, the heaviest first; sections without anything are left out.
void report_text(const analyze::Summary& summary, const ReportOptions& options, TextStream& stream);

// One object; "schema_version" changes when a field changes its meaning or goes away. Times are integers, in ns.
// docs/schema/report.json is its schema.
void report_json(const analyze::Summary& summary, TextStream& stream);

}  // namespace gpuprof::output
