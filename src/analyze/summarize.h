// The rows of a profile, grouped for a report.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "analyze/aggregate.h"

namespace gpuprof::analyze {

// One line of a report: GPU work, or GPU work together with the call path that launched it.
struct SummaryLine {
  std::string process;            // of a call path; empty where several processes are added up
  std::string work;               // kernel, "[copy HtoD]", launched function, GPU symbol
  std::vector<std::string> path;  // CPU frames, root first; of a call path
  Weight weight;
  uint64_t min_ns = 0;  // of one GPU record; 0 and 0 where nothing was timed
  uint64_t max_ns = 0;
};

struct Summary {
  ProfileInfo info;
  Weight total;
  std::vector<SummaryLine> work;        // every one, by weight, heaviest first
  std::vector<SummaryLine> call_paths;  // the same
  bool timed = false;                   // lines are in the order of ns; otherwise in that of count
};

// Call paths are those of one process name, CPU stack and work. `top`: at most so many lines of each, the heaviest;
// 0 for all.
Summary summarize(const Aggregate& rows, size_t top);

}  // namespace gpuprof::analyze
