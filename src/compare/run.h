// The cost of a run by kernel, CPU function and call path. Uses names, not ids or lines, so that runs can be compared.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "analyze/names/frame_origin.h"
#include "analyze/paths/stack_view.h"
#include "analyze/rows/aggregate.h"
#include "analyze/rows/durations.h"
#include "analyze/rows/measure.h"
#include "base/exit_status.h"
#include "base/result.h"
#include "base/text/numbers.h"
#include "compare/stall_sums.h"
#include "profile/reader.h"

namespace gpuprof::compare {

struct Cost {
  uint64_t ns = 0;  // GPU time, or that of another measure
  // GPU records or, in a profile without times, launches. Of measure `cpu`: samples.
  uint64_t count = 0;

  Cost& operator+=(const Cost& other) {
    ns += other.ns;
    count += other.count;
    return *this;
  }
};

struct Kernel {
  // As in the profile: a kernel name or "[copy HtoD]". Of other measures: what the CPU did, such as "[sleeps]".
  std::string name;
  Cost cost;
  analyze::Durations durations;
  StallSums stalls;  // empty if too many samples were dropped
};

struct Function {
  std::string name;
  std::string file;  // shortened source path of a Python function; empty for other functions
  analyze::Origin origin = analyze::Origin::none;
  Cost total;         // GPU work launched below the function; counts once per stack, even with recursion
  Cost direct;        // GPU work that the function launched itself, according to analyze::Launcher
  bool note = false;  // true: not a function, but a note in a path, such as "[captured at]" or "[truncated]"
};

// One kernel launched from one CPU stack.
struct Path {
  uint32_t kernel = 0;              // index into Run::kernels
  std::vector<uint32_t> functions;  // indexes into Run::functions, outermost first; empty without a CPU stack
  Cost cost;
};

// SM clock of one device during the recording, in MHz. Unknown if `samples` is 0.
struct Clock {
  uint64_t samples = 0;
  double mean_mhz = 0;
  double min_mhz = 0;
  double max_mhz = 0;
};

// Facts that decide whether two runs are comparable, and that users see for each run.
struct RunFacts {
  std::string file;  // the run's name in messages
  analyze::Measure measure = analyze::Measure::gpu;
  analyze::ProfileInfo info;
  std::vector<std::string> devices;  // names of the devices with work, such as "NVIDIA H200", sorted
  // In a merged profile, each of the fields `driver` to `exit_status` contains the distinct values of all ranks, sorted
  // and joined by commas.
  std::string driver;  // empty if unknown
  std::string command;
  std::string host;
  // Commit of the recorded program: from --commit, CI variables or git; may be empty.
  std::string commit;
  std::string exit_status;              // META target.exit_status; "0" if no rank has failed; empty if unknown
  std::map<std::string, Clock> clocks;  // key: device
  uint64_t window_ns = 0;               // recorded time; 0 if unknown
  uint64_t launches = 0;                // launches that the program tried; 0 if unknown
  uint64_t failed_launches = 0;         // launches for which the vendor's library returned an error

  // The share of the GPU work that was lost. The text, such as "0.01%", is rounded up.
  [[nodiscard]] double lost_percent() const {
    return info.covered.lost == 0
               ? 0
               : 100 * static_cast<double>(info.covered.lost) / static_cast<double>(info.covered.all());
  }
  [[nodiscard]] std::string lost_text() const { return percent_text_up(info.covered.lost, info.covered.all()); }
};

// A run. All numbers are exact: the sums of the kernels and of the paths equal the total.
struct Run {
  RunFacts facts;
  bool timed = true;  // false: the profile has no times, only counts of launches or samples
  Cost total;
  std::vector<Kernel> kernels;  // names are unique
  std::vector<Function> functions;
  std::vector<Path> paths;                 // (kernel, functions) is unique
  std::vector<std::string> stall_reasons;  // each reason occurs once
};

// Limit for the frames of all paths of the runs that a command holds in memory. Beyond its part of the limit, a run's
// paths are cut to kCutPathFrames below "[truncated]", with a warning.
inline constexpr size_t kMostPathFrames = size_t{32} << 20U;
inline constexpr size_t kCutPathFrames = 16;

Run run_of(const analyze::Aggregate& rows, std::string file, const analyze::StackOptions& stacks,
           size_t most_frames = kMostPathFrames, analyze::Measure measure = analyze::Measure::gpu);

// The measures that a run can have.
inline constexpr std::array kRunMeasures = {analyze::Measure::gpu, analyze::Measure::idle, analyze::Measure::cpu,
                                            analyze::Measure::off_cpu};

// Reads the profile to its end.
Result<Run> read_run(profile::Reader& reader, std::string file, const analyze::StackOptions& stacks, size_t most_frames,
                     analyze::Measure measure = analyze::Measure::gpu);

// Returns the error for a run whose total is 0.
Error nothing_measured(const RunFacts& facts, int exit_code = kExitNothing);

}  // namespace gpuprof::compare
