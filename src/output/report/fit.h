// A report that is no longer than a reader wants.
#pragma once

#include <cstddef>

#include "analyze/rows/summarize.h"

namespace gpuprof::output {

// Of more functions a report that is made to fit only uses the names: they tell which frames of a path matter.
inline constexpr size_t kMostFunctions = 12;

// How much is told of what a report lists.
struct Detail {
  size_t frames = 6;         // of a call path, about
  size_t devices = 8;        // that are listed
  bool whole_trust = true;   // not only the coverage
  size_t stall_reasons = 4;  // of a kernel; any number where a report is as long as it likes
  bool awaited = true;       // what the line that waits longest waits for, of each kernel
  size_t explained = 4;      // of how many kernels it is said what the stall means that dominates
  bool one_line = false;     // names beside their numbers, shorter, and fewer numbers, so that each is one line
};

// Makes a report shorter by the least that a reader misses; false where it is as short as it gets. Kernels, functions
// and call paths are what a report is for, so the tables behind them give up lines first, then paths frames and names
// their second line. docs/cli.md has the order.
bool give_up_line(analyze::Summary& summary, Detail& detail);

// Gives a copy of `whole` its tables back.
void restore_tables(const analyze::Summary& whole, analyze::Summary& summary);

}  // namespace gpuprof::output
