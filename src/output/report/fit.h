// Shortens a report to a number of lines.
#pragma once

#include <cstddef>

#include "analyze/rows/summarize.h"

namespace gpuprof::output {

// Maximum number of functions in a report of limited length. Further functions still help to choose a path's frames.
inline constexpr size_t kMostFunctions = 12;

struct Detail {
  size_t frames = 6;  // approximate number of frames shown per call path
  size_t devices = 8;
  bool whole_trust = true;   // show all lines about captured and missed data, not only the coverage
  size_t stall_reasons = 4;  // number of reasons shown per kernel; ignored if the report's length is unlimited
  bool awaited = true;       // show for each kernel the source line that waits most, and what it waits for
  size_t explained = 4;      // number of kernels for which the dominant stall reason is explained
  bool one_line = false;     // write each kernel in one line, with a short name and fewer numbers
};

// Removes the least important detail of the report. Returns false if nothing is left to remove. At first, shortens all
// tables except kernels, functions and call paths. Then omits frames of paths, and writes names beside their numbers
// (see docs/cli.md).
bool remove_line(analyze::Summary& summary, Detail& detail);

void restore_tables(const analyze::Summary& whole, analyze::Summary& summary);

}  // namespace gpuprof::output
