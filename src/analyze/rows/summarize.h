// Groups the rows of a profile for a report.
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
#include "analyze/rows/durations.h"
#include "analyze/stalls/counted.h"
#include "analyze/stalls/stalls.h"
#include "base/text/pattern.h"

namespace gpuprof::analyze {

// Sort order of the lines of kernels, paths and groups, greatest first. If nothing was timed: by calls.
enum class SortBy : uint8_t { time, calls, average, max };

struct SummaryOptions {
  // Maximum number of lines in each list, which then has the heaviest ones; 0: unlimited.
  struct Limits {
    size_t work = 0;
    size_t functions = 0;
    size_t paths = 0;
    size_t others = 0;
  };
  Limits limits;
  SortBy sort = SortBy::time;
  bool chains = false;  // merge functions that are always in the same paths into one line: join_chains()
  std::optional<Dimension> by;
  // Select work by its name, and by a CPU frame of its call path. `info`, `all` and `devices` ignore both patterns.
  std::optional<Pattern> kernel;
  std::optional<Pattern> path;
  StackOptions stacks;
};

// One line of a report: GPU or host work, optionally with the call path that launched it.
struct SummaryLine {
  std::string_view process;  // set only in lines with a call path; empty if the line sums several processes
  std::string_view work;     // kernel name, a label such as "[copy HtoD]" or, in a list of stalls, the stall reason
  CallPath path;             // CPU frames, outermost first; only with a call path
  Weight weight;
  uint64_t min_ns = 0;  // time of the shortest record; min_ns and max_ns are 0 if nothing was timed
  uint64_t max_ns = 0;
  uint64_t average_ns = 0;  // at least min_ns, at most max_ns
  uint64_t untimed = 0;     // launches in `weight` whose times were not measured
  // Standard deviation of the records' times; nullopt if squares were not recorded.
  std::optional<uint64_t> deviation_ns;
  Percentiles percentiles;
  Durations durations;
  std::optional<Margin> margin;  // of an estimated GPU time
};

// One device. All times are 0 if unknown.
struct DeviceLine {
  std::string name;
  Weight weight;
  uint64_t busy_ns = 0;
  uint64_t idle_ns = 0;
  uint64_t wall_ns = 0;  // how long the device was observed
  // True: several recordings observed this device at the same time, each only its own work. `busy_ns`, the sum of all
  // recordings, is then an upper limit and may exceed `wall_ns`. `idle_ns` is a lower limit.
  bool overlap = false;
  // True: the profile is a subset that may lack other work of the device. `busy_ns` is then a lower limit (with
  // `overlap` still an upper limit), and `idle_ns` is 0.
  bool partial = false;
  // True: work that is not in the profile may have run in the idle time. `busy_ns` is then a lower limit, and `idle_ns`
  // an upper limit.
  bool lacks_work = false;
};

// Idle time of devices, and what the thread that launched the next work did in it: "on CPU in fetch (loader.py)",
// "sleeps".
struct IdleCause {
  std::string what;
  uint64_t ns = 0;
};

// All work with one value of a dimension: "rank 3".
struct GroupLine {
  std::string name;
  Weight weight;
  uint64_t min_ns = 0;
  uint64_t max_ns = 0;
  uint64_t average_ns = 0;
  uint64_t untimed = 0;  // see SummaryLine
  // Busy time of the group's devices. 0 if the profile has no SHARE lines, and for ranks that share a device.
  uint64_t busy_ns = 0;
  std::optional<uint64_t> deviation_ns;
  Percentiles percentiles;
  std::optional<Margin> margin;  // of an estimated GPU time
};

// The nodes of CUDA graphs. The sums of GPU work include them, too.
struct GraphSummary {
  Weight weight;
  uint64_t captured = 0;  // number of nodes for which the stack of the capture is known
};

// A code location in GPU code. Unknown texts are empty.
struct PlaceLine {
  std::string_view function;
  uint64_t offset = 0;
  std::string_view instruction;
  std::string_view source_function;  // innermost inlined function
  std::string_view file;
  uint32_t line = 0;
  uint64_t samples = 0;
};

// The thread blocks of one kernel.
struct BlockLine {
  std::string_view kernel;
  profile::Blocks sums;  // without buckets
  Percentiles percentiles;
};

struct Summary {
  ProfileInfo info;  // facts about the complete recording, even if a window is selected
  // Time that all fields but `info` and `counted` cover; nullopt: the complete recording.
  std::optional<TimeWindow> window;
  profile::SliceGrid grid;
  // The next counts cover the window or, without a window, the complete recording; see ProfileInfo.
  uint64_t gpu_records = 0;
  uint64_t with_stack_records = 0;
  uint64_t untimed = 0;  // launches of LAUNCH lines, which have no times
  uint64_t recorded_samples = 0;
  uint64_t estimated = 0;
  std::shared_ptr<WorkPaths> texts;  // owns the texts of the lines, except those that the rows own
  Weight all;                        // all work in the window, whatever the patterns select
  Weight total;                      // the work that the patterns select
  std::optional<Margin> margin;      // of `total`, if it is an estimate
  bool filtered = false;             // true: a pattern was set, so `total` may be less than `all`
  std::vector<SummaryLine> work;
  std::vector<SummaryLine> call_paths;
  bool has_percentiles = false;  // the profile has DURATION lines, and they were requested
  bool timed = false;            // lines are sorted by ns, not by count
  // Heaviest total first; a frame without a useful name is listed only if it launched work.
  std::vector<FunctionLine> functions;
  Weight with_stack;                // work with at least one function in its stacks
  std::vector<DeviceLine> devices;  // devices with work, in the order of the profile
  // The idle time of all devices by its causes, longest first, and its sum. Only with CPU samples.
  std::vector<IdleCause> idle_causes;
  uint64_t idle_ns = 0;
  std::vector<GroupLine> groups;
  std::vector<GroupLine> ranks;  // busiest first; only if the profile has several ranks
  GraphSummary graphs;
  // Samples of GPU code, heaviest first. In a profile with only samples, `total`, `work` and `call_paths` sum samples.
  uint64_t samples = 0;
  std::vector<SummaryLine> sampled_work;
  std::vector<SummaryLine> sample_reasons;
  std::vector<PlaceLine> sample_places;
  // Stalls per kernel, sorted by kernel time; only if ProfileInfo::samples_are_reliable().
  std::vector<KernelStalls> stalls;
  uint64_t stalls_without_lines = 0;      // selected samples whose source line is unknown
  uint64_t stalls_without_in_zebins = 0;  // those of stalls_without_lines that are in code of Intel's compiler
  std::vector<BlockLine> blocks;          // sorted by kernel time; with AggregateOptions::blocks
  std::vector<CountedTable> counted;  // hardware counts per instruction, without call paths; empty with a path filter
  // CPU-side work. Sums of GPU work do not include it. Requires AggregateOptions::host.
  std::vector<SummaryLine> host_work;     // waits, allocations, frees, page faults, migrations, heaviest first
  std::vector<SummaryLine> calls;         // functions of Op::call, sorted by ns; `work` is the function's name
  std::vector<SummaryLine> waits;         // call paths of blocking calls, sorted by ns
  std::vector<SummaryLine> allocations;   // call paths of allocations, sorted by bytes
  std::vector<SummaryLine> failures;      // call paths of calls that returned an error; `work` names both
  std::vector<SummaryLine> without_work;  // call paths of launches whose GPU work was not recorded
  Weight call_total;
  Weight wait_total;
  Weight allocation_total;
  StackView::Trimmed trimmed;
  // Numbers of lines before SummaryOptions::Limits were applied.
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
    size_t blocks = 0;
    size_t host_work = 0;
    size_t calls = 0;
    size_t waits = 0;
    size_t allocations = 0;
    size_t failures = 0;
    size_t without_work = 0;
  };
  Found found;

  [[nodiscard]] bool nothing_matches() const {
    return filtered && total.count == 0 && samples == 0 && host_work.empty() && calls.empty() && failures.empty() &&
           without_work.empty() && counted.empty();
  }
};

// Groups rows by process name, visible CPU stack and work. `rows` must outlive the summary, and need
// AggregateOptions::squares for deviations, ::durations for percentiles, ::idle for devices, and ::stall_slices for
// stall intervals.
Summary summarize(const Aggregate& rows, const SummaryOptions& options = {});

}  // namespace gpuprof::analyze
