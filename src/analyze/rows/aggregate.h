// Reads a profile to its end and sums it up: one row for each WORK, and one for each distinct sample. Memory grows with
// the rows, not with the records. Flame trees and reports are made from the rows.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "analyze/paths/flame_tree.h"
#include "analyze/rows/estimates.h"
#include "analyze/rows/measure.h"
#include "analyze/rows/slice_sums.h"
#include "analyze/rows/time_window.h"
#include "analyze/stalls/stall_slices.h"
#include "base/large_vector.h"
#include "base/result.h"
#include "profile/block_totals.h"
#include "profile/coverage.h"
#include "profile/reader.h"
#include "profile/tables.h"

namespace gpuprof::analyze {

// What a profile measures; decides the default weight. HOST lines never count, samples only if nothing else exists.
enum class ProfileKind : uint8_t { empty, durations, launch_counts, stall_samples, mixed };

// Facts about the complete recording.
struct ProfileInfo {
  ProfileKind kind = ProfileKind::empty;
  std::map<std::string, uint64_t> losses;    // LOSS counts by reason
  std::map<std::string, uint64_t> failures;  // calls that returned an error, by "function: error"
  std::map<std::string, uint64_t> coverage;  // COVERAGE counts; the key is the word for what was counted
  std::multimap<std::string, std::string> meta;
  std::vector<std::string> warnings;  // contradictions in a profile that is still readable
  // True: the profile was not cut short; always true for the published form (FORMAT.md), which has no END record.
  bool complete = false;
  bool cut_short = false;
  uint64_t launches = 0;  // from END; without END, counted from LAUNCH lines
  uint64_t untimed = 0;   // launches that were only counted, in a profile that also has GPU times
  uint64_t gpu_records = 0;
  uint64_t with_stack = 0;  // number of GPU records with a CPU stack: from END; without END, counted
  uint64_t unsampled = 0;   // number of GPU records that have no CPU stack because of --max-overhead
  uint64_t samples = 0;
  uint64_t estimated = 0;  // samples whose attribution was estimated
  // Idle time that CPU samples explain, and idle time that they do not explain. Both are 0 without CPU samples.
  uint64_t idle_explained_ns = 0;
  uint64_t idle_not_sampled_ns = 0;
  // CPU stack coverage of GPU records. If no GPU records exist and none were lost, coverage of launches. Without
  // launches, coverage of samples.
  profile::WorkCoverage covered;
  // Lines that a lenient reader skipped, and records of unknown kinds: of this file, and of those that it was made
  // from.
  uint64_t skipped_bad = 0;
  uint64_t skipped_unknown = 0;
  uint64_t records = 0;           // GPU, LAUNCH and EUSTALL lines
  uint64_t events = 0;            // EVENT, CALL and SPAN lines, which form a timeline
  uint64_t windows = 0;           // WINDOW lines
  bool weighted_windows = false;  // a window has a weight above 1
  // With --max-overhead: how many GPU records the counts of `coverage` with these words stand for. `covered`,
  // `failures` and the counts of GPU records above are scaled; `losses`, `coverage`, `launches` and `samples` are those
  // in windows.
  std::map<profile::CoverageCount, uint64_t> represented_counts;
  std::string margin;  // "3.10%", half the width of the 95% interval of an estimated GPU time; empty if unknown
  // Processes whose work was counted, and those of them whose work was counted in windows of --max-overhead.
  std::set<profile::ProcessId> processes;
  std::set<profile::ProcessId> estimated_processes;
  // True in outputs of latencies and timelines, which are not scaled: they have only the launches in windows.
  bool only_in_windows = false;

  // Returns the start of the recording, from META. Nullopt: it is unknown.
  [[nodiscard]] std::optional<uint64_t> start_ns() const;
  // Returns the sum of the numbers in META lines with this key.
  [[nodiscard]] uint64_t sum_of_meta(std::string_view key) const;
  // Takes the reader's counts of skipped lines. Call it after the last record.
  void count_skipped(const profile::Reader& reader);
  void add(const profile::Window& window);
  void add_process_of(const profile::Coverage& line);
  [[nodiscard]] uint64_t counted(profile::CoverageCount what) const;
  // Whether --max-overhead left out a part of the time, so that the sums are estimates.
  [[nodiscard]] bool is_estimate() const {
    return weighted_windows ||
           counted(profile::CoverageCount::represented) != counted(profile::CoverageCount::weighted);
  }

  // True if the profile also has the exact numbers of other processes, because it was merged.
  [[nodiscard]] bool is_partly_estimate() const {
    return !estimated_processes.empty() && estimated_processes.size() < processes.size();
  }

  // Returns "numbers are estimates from 19 windows of the time (--max-overhead), GPU time +-3.10%", or "numbers of 1 of
  // 2 processes are estimates ...". If only_in_windows: "launches are only those in 19 windows ...".
  // Returns "" if is_estimate() is false.
  [[nodiscard]] std::string estimate_text() const;

  // Returns how many GPU work items were lost, with --max-overhead only those in windows.
  [[nodiscard]] uint64_t lost_gpu_work() const;
  // Returns the COVERAGE count of GPU records, scaled if it is an estimate.
  [[nodiscard]] uint64_t represented_records(profile::CoverageCount what) const;
  // Returns whether a device may have run work that is not in the profile, because it was lost or not recorded.
  [[nodiscard]] bool lacks_gpu_work() const;
  [[nodiscard]] uint64_t dropped_samples() const;
  // True if at most 1% of the samples was dropped. Dropped samples are mostly those of the busiest code, so larger
  // losses distort the shares.
  [[nodiscard]] bool samples_are_reliable() const;
};

enum class RowKind : uint8_t { gpu, launch, host };

// The sums of one WORK. Exactly one cache line, because looking up a row in a large profile is a cache miss.
struct alignas(64) Row {
  RowKind kind = RowKind::gpu;
  uint32_t ref = 0;  // position of the WORK: see Aggregate::work()
  Weight weight;
  uint64_t min_ns = 0;  // time of the shortest record; min_ns and max_ns are 0 if no record has a time
  uint64_t max_ns = 0;
  uint64_t busy_ns = 0;  // from SHARE lines; only gpu rows have it
  uint64_t exclusive_ns = 0;
};

// Identifies a sample, except for its slice.
struct SampleKey {
  profile::WorkId work{};
  profile::GpuPlaceId place{};
  profile::StringId reason{};
  profile::SamplingId sampling{};
  uint32_t flags = 0;
  bool operator==(const SampleKey&) const = default;
};

struct SampleRow {
  SampleKey key;
  uint64_t count = 0;
};

// How one device spent its time during all WINDOWs.
struct DeviceTime {
  uint64_t busy_ns = 0;
  uint64_t exclusive_ns = 0;
  uint64_t idle_ns = 0;
};

struct IdleRow {
  profile::DeviceId device{};
  profile::WorkId work{};  // the work item whose start ended the idle time; 0 if no work item was launched afterwards
  uint64_t ns = 0;
};

struct LatencyRow {
  profile::WorkId work{};
  profile::Phase phase = profile::Phase::call_to_queued;
  uint64_t count = 0;
  uint64_t sum_ns = 0;
  uint64_t min_ns = 0;
  uint64_t max_ns = 0;
  std::vector<profile::Latency::Bucket> buckets;  // ascending and unique; for bounds see profile/log_buckets.h
};

struct BlocksRow {
  profile::WorkId work{};
  profile::BlockTotals totals;
};

struct MergedWindows {
  std::vector<profile::Window> windows;
  std::set<profile::DeviceId> devices;  // with SHARE or IDLE lines
};

struct Aggregate {
  ProfileInfo info;
  profile::Tables tables;
  LargeVector<Row> rows;        // gpu and launch rows, in the order of their first appearance
  std::vector<double> squares;  // with AggregateOptions::squares: sums of squared ns, one per row
  Estimates estimates;          // of `rows`; only with --max-overhead
  // With AggregateOptions::durations: the histogram of each row. Rows beyond the end of this list have none.
  std::vector<std::vector<profile::Duration::Bucket>> durations;
  std::vector<std::vector<profile::Duration::Bucket>> host_durations;  // the histograms of `host`
  std::vector<uint64_t> queue_ns;  // with AggregateOptions::queue: one per row; rows beyond the end of this list have 0
  uint64_t queue_total_ns = 0;     // sum of `queue_ns`; UINT64_MAX on overflow
  LargeVector<SampleRow> samples;
  StallSlices stall_slices;              // with AggregateOptions::stall_slices: stall samples over time
  SliceSums slices;                      // with AggregateOptions::slices: weights of that measure over time
  SliceSums sample_slices;               // sample counts over time, if AggregateOptions::slices is gpu or samples
  TimelineSums timeline;                 // GPU work over time, with AggregateOptions::slices = gpu; see has_timeline
  LargeVector<Row> host;                 // host rows, with AggregateOptions::host
  std::vector<IdleRow> idle;             // with AggregateOptions::idle: one per device and WORK
  std::vector<LatencyRow> latencies;     // with AggregateOptions::latency: one per WORK and phase
  std::vector<BlocksRow> blocks;         // with AggregateOptions::blocks: one per WORK; all sums together fit, too
  std::vector<profile::Window> windows;  // in the order of the file
  // The recordings of a merged profile, by META recording.rows.
  std::map<std::string, MergedWindows> recordings;
  // Sum of `rows`; neither this sum nor the sum of any subset of the rows overflows.
  Weight total;
  uint64_t sample_count = 0;  // sum of `samples`; does not overflow
  Weight host_total;          // sum of all HOST lines, even without AggregateOptions::host; does not overflow
  uint64_t busy_ns = 0;
  uint64_t exclusive_ns = 0;
  uint64_t idle_ns = 0;                                  // busy_ns + idle_ns does not overflow
  uint64_t window_ns = 0;                                // time that is inside at least one window
  std::map<profile::DeviceId, DeviceTime> device_times;  // from SHARE and IDLE lines
  // True: the profile has SHARE lines, so the weights busy, exclusive and idle are valid.
  bool has_shares = false;
  // True: the events in `timeline` are all GPU work of the profile. False without --timeline, or if events are missing.
  bool has_timeline = false;
  profile::SliceGrid grid;           // the time slices
  std::optional<SliceRange> window;  // with AggregateOptions::window: the selected slices

  // Returns the time of the selected slices, or nullopt if no window was chosen.
  [[nodiscard]] std::optional<TimeWindow> selected_window() const {
    return window ? std::optional(window_of(*window, grid)) : std::nullopt;
  }
  [[nodiscard]] bool no_rows() const { return rows.empty() && samples.empty() && host.empty(); }

  [[nodiscard]] const profile::Work& work(const Row& row) const { return tables.works()[row.ref]; }
  [[nodiscard]] const profile::Work& work(const SampleRow& row) const { return *tables.work(row.key.work); }
};

// What to collect besides `rows`. aggregate() always checks all lines, and sums up all but LATENCY and BLOCKS lines.
struct AggregateOptions {
  bool host = false;
  bool idle = false;
  bool latency = false;
  bool blocks = false;
  bool squares = false;
  bool durations = false;
  bool queue = false;
  bool stall_slices = false;
  std::optional<Measure> slices;
  // Limits rows and sums to slices that overlap the window. `info` and lines without a slice cover the whole recording.
  std::optional<TimeWindow> window;
};

Result<Aggregate> aggregate(profile::Reader& reader, const AggregateOptions& options = {});

}  // namespace gpuprof::analyze
