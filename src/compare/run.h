// What one recorded run cost, by kernel, CPU function and call path, in a form in which runs can be compared: names
// instead of the ids of one profile, and no lines, which every edit of a source file moves.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "analyze/names/frame_origin.h"
#include "analyze/paths/stack_view.h"
#include "analyze/rows/aggregate.h"
#include "base/result.h"
#include "compare/stall_sums.h"
#include "profile/reader.h"

namespace gpuprof::compare {

struct Cost {
  uint64_t ns = 0;     // of GPU time
  uint64_t count = 0;  // GPU records; in a profile without times, launches

  Cost& operator+=(const Cost& other) {
    ns += other.ns;
    count += other.count;
    return *this;
  }
};

struct Kernel {
  std::string name;  // as the profile has it: a kernel, "[copy HtoD]"
  Cost cost;
  StallSums stalls;  // nothing where too many samples were dropped to tell
};

struct Function {
  std::string name;
  std::string file;  // short, of a Python function; else empty
  analyze::Origin origin = analyze::Origin::none;
  Cost total;         // of all GPU work launched below it, once however often it is in a stack
  Cost direct;        // of what it launched itself, as analyze::Launcher says
  bool note = false;  // no function, but what stands in a path: "[captured at]", "[truncated]"
};

// One kernel from one CPU stack.
struct Path {
  uint32_t kernel = 0;              // in Run::kernels
  std::vector<uint32_t> functions;  // in Run::functions, root first; empty: no CPU stack
  Cost cost;
};

// SM clock of one device while the run was recorded, in MHz; samples == 0: not known.
struct Clock {
  uint64_t samples = 0;
  double mean_mhz = 0;
  double min_mhz = 0;
  double max_mhz = 0;
};

// What decides whether two runs may be compared, and what a user wants to know of each.
struct RunFacts {
  std::string file;  // what errors call it
  analyze::ProfileInfo info;
  std::vector<std::string> devices;  // "NVIDIA H200", one for each device that had work, sorted
  // Of a merged profile these four hold each value once, sorted, joined by ", ".
  std::string driver;  // empty: not known
  std::string command;
  std::string host;
  std::string commit;                   // of the program that was recorded, where record was told or found one
  std::string exit_status;              // META target.exit_status; "0": no rank has failed; empty: not known
  std::map<std::string, Clock> clocks;  // by device
  double lost_percent = 0;              // of GPU work, as profile::coverage reckons it
};

// All numbers are exact: those of the kernels add up to the total, and so do those of the paths.
struct Run {
  RunFacts facts;
  bool timed = true;  // false: counts only, of launches or of samples
  Cost total;
  std::vector<Kernel> kernels;  // each name once
  std::vector<Function> functions;
  std::vector<Path> paths;                 // each (kernel, functions) once
  std::vector<std::string> stall_reasons;  // each once
};

// Paths hold at most so many frames together. Where a hostile profile has more, the rest of its paths are cut to their
// innermost kCutPathFrames below a "[truncated]", and a warning among the facts says so.
inline constexpr size_t kMostPathFrames = size_t{32} << 20U;
inline constexpr size_t kCutPathFrames = 16;

Run run_of(const analyze::Aggregate& rows, std::string file, const analyze::StackOptions& stacks);

// Reads a profile to its end.
Result<Run> read_run(profile::Reader& reader, std::string file, const analyze::StackOptions& stacks);

}  // namespace gpuprof::compare
