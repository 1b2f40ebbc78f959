// The rows of a profile, grouped for a report.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analyze/paths/call_path.h"
#include "analyze/paths/functions.h"
#include "analyze/paths/stack_view.h"
#include "analyze/rows/aggregate.h"
#include "analyze/rows/dimensions.h"
#include "analyze/stalls/counted.h"
#include "analyze/stalls/stalls.h"
#include "base/text/pattern.h"

namespace gpuprof::analyze {

// What the lines of kernels, paths and groups are sorted by, the greatest first. Where nothing was timed: by calls.
enum class SortBy : uint8_t { time, calls, average, max };

struct SummaryOptions {
  // At most so many lines of each kind, the heaviest; 0 for all.
  struct Limits {
    size_t work = 0;
    size_t functions = 0;
    size_t paths = 0;
    size_t others = 0;
  };
  Limits limits;
  SortBy sort = SortBy::time;
  bool chains = false;  // functions that are in all the same paths are one line: join_chains()
  std::optional<Dimension> by;
  // What is shown of the profile: work whose name `kernel` matches, from where a frame of the CPU matches `path`. All
  // but `info`, `all` and `devices` is of that work alone.
  std::optional<Pattern> kernel;
  std::optional<Pattern> path;
  StackOptions stacks;
};

// One line of a report: GPU or host work, or such work together with the call path that launched it.
struct SummaryLine {
  std::string_view process;  // of a call path; empty where several processes are added up
  std::string_view work;     // kernel, "[copy HtoD]", launched function; or a stall reason
  CallPath path;             // CPU frames, root first; of a call path
  Weight weight;
  uint64_t min_ns = 0;  // of one record; 0 and 0 where nothing was timed
  uint64_t max_ns = 0;
  std::optional<uint64_t> deviation_ns;  // standard deviation of one record; none where the profile has no squares
};

// busy_ns + idle_ns is how long the device was watched; both are 0 where the profile does not say.
struct DeviceLine {
  std::string name;  // "device 0 NVIDIA H200"
  Weight weight;
  uint64_t busy_ns = 0;
  uint64_t idle_ns = 0;
};

// All work of one value of a dimension: "rank 3".
struct GroupLine {
  std::string name;
  Weight weight;
  uint64_t min_ns = 0;
  uint64_t max_ns = 0;
  uint64_t busy_ns = 0;  // of its devices' time; 0 where the profile does not say how that was shared
  std::optional<uint64_t> deviation_ns;
};

// The nodes of CUDA graphs, which are part of the other GPU work.
struct GraphSummary {
  Weight weight;
  uint64_t captured = 0;  // how many of them have the stack of their capture
};

// A place in GPU code; texts are empty where they are not known.
struct PlaceLine {
  std::string_view function;
  uint64_t offset = 0;
  std::string_view instruction;
  std::string_view source_function;  // the innermost one that was inlined there
  std::string_view file;
  uint32_t line = 0;
  uint64_t samples = 0;
};

struct Summary {
  ProfileInfo info;                  // of the whole recording, also where a window was chosen
  std::optional<TimeWindow> window;  // what all but `info` and `counted` is of; nothing: the whole recording
  uint64_t interval_ns = 0;          // what the window is made of
  // Of the window, or of the whole recording: as in ProfileInfo.
  uint64_t gpu_records = 0;
  uint64_t with_stack_records = 0;
  uint64_t recorded_samples = 0;
  uint64_t estimated = 0;
  std::shared_ptr<WorkPaths> texts;  // what its lines refer to, besides the rows
  Weight all;                        // of the whole profile
  Weight total;                      // of what is shown
  bool filtered = false;             // that may be less than all
  std::vector<SummaryLine> work;
  std::vector<SummaryLine> call_paths;
  bool timed = false;                   // lines are in the order of ns; otherwise in that of count
  std::vector<FunctionLine> functions;  // by total, heaviest first; those that tell nothing only if they launched work
  Weight with_stack;                    // FunctionTable::with_stack
  std::vector<DeviceLine> devices;      // those with work, in the order of the profile
  std::vector<GroupLine> groups;        // of SummaryOptions::by
  std::vector<GroupLine> ranks;         // the busiest first, where several processes have one
  GraphSummary graphs;
  // Samples of GPU code, heaviest first. In a profile that has nothing else, `total`, `work` and `call_paths` are
  // theirs.
  uint64_t samples = 0;  // that are shown
  std::vector<SummaryLine> sampled_work;
  std::vector<SummaryLine> sample_reasons;
  std::vector<PlaceLine> sample_places;
  // Of kernels, in the order of their time, where the samples tell something (ProfileInfo::samples_tell()).
  std::vector<KernelStalls> stalls;
  uint64_t stalls_without_lines = 0;      // of the samples that are shown
  uint64_t stalls_without_in_zebins = 0;  // of those
  std::vector<CountedTable> counted;      // at instructions; with a path none, as that is not known of them
  // Not GPU work, and in no sum of it. Of profiles that were read with AggregateOptions::host.
  std::vector<SummaryLine> host_work;    // waits, allocations, frees, page faults, migrations; by ns, then bytes
  std::vector<SummaryLine> waits;        // call paths of blocking calls, by ns
  std::vector<SummaryLine> allocations;  // call paths, by bytes
  Weight wait_total;
  Weight allocation_total;
  StackView::Trimmed trimmed;
  // How many lines there are without a limit.
  struct Found {
    size_t work = 0;
    size_t call_paths = 0;
    size_t functions = 0;
    size_t groups = 0;
    size_t ranks = 0;
    size_t sampled_work = 0;
    size_t sample_reasons = 0;
    size_t sample_places = 0;
    size_t stalls = 0;
    size_t host_work = 0;
    size_t waits = 0;
    size_t allocations = 0;
  };
  Found found;

  // Options ask for work of which there is none.
  [[nodiscard]] bool nothing_matches() const {
    return filtered && total.count == 0 && samples == 0 && host_work.empty() && counted.empty();
  }
};

// Call paths are those of one process name, CPU stack as it is shown, and work. The summary's texts are those of
// `rows`. Standard deviations need AggregateOptions::squares, devices ::idle, intervals of stalls ::stall_slices.
Summary summarize(const Aggregate& rows, const SummaryOptions& options = {});

}  // namespace gpuprof::analyze
