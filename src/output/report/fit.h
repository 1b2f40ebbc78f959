// Shortens a report to a number of lines.
#pragma once

#include <cstddef>

#include "analyze/rows/summarize.h"

namespace gpuprof::output {

// The most functions in the table if the number of lines is limited. Other functions only rank the frames of paths.
inline constexpr size_t kMostFunctions = 12;

struct Detail {
  size_t frames = 6;  // approximate number per call path
  size_t devices = 8;
  bool whole_trust = true;   // the complete trust footer; false: only the coverage
  size_t stall_reasons = 4;  // per kernel; not limited in a report of unlimited length
  bool awaited = true;       // show, for each kernel, what its longest waiting line waits for
  size_t explained = 4;      // number of kernels whose dominant stall reason is explained
  bool one_line = false;     // one line per kernel: short names beside fewer numbers
};

// Removes the detail that a reader misses least; false if nothing is left to remove. Kernels, functions and call paths
// matter most: other tables lose lines first, then paths lose frames and names their second line (see docs/cli.md).
bool remove_line(analyze::Summary& summary, Detail& detail);

void restore_tables(const analyze::Summary& whole, analyze::Summary& summary);

}  // namespace gpuprof::output
