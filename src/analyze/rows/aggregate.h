// Reads a profile to its end and adds up what belongs together: one row for each WORK, and for each distinct sample.
// Memory grows with the rows, not with the records. Flame trees and reports are made from the rows.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "analyze/paths/flame_tree.h"
#include "analyze/rows/measure.h"
#include "analyze/rows/slice_sums.h"
#include "analyze/rows/time_window.h"
#include "analyze/stalls/stall_slices.h"
#include "base/large_vector.h"
#include "base/result.h"
#include "profile/coverage.h"
#include "profile/reader.h"
#include "profile/tables.h"

namespace gpuprof::analyze {

// What the profile's records measure, which decides the default weight. HOST lines do not count for this, and samples
// only where there is nothing else.
enum class ProfileKind : uint8_t { empty, durations, launch_counts, stall_samples, mixed };

// About the profile as a whole.
struct ProfileInfo {
  ProfileKind kind = ProfileKind::empty;
  std::map<std::string, uint64_t> losses;    // LOSS reasons, summed
  std::map<std::string, uint64_t> coverage;  // COVERAGE words, summed
  std::multimap<std::string, std::string> meta;
  std::vector<std::string> warnings;  // contradictions that do not make the profile unreadable
  bool complete = false;              // nothing is missing at the end; the published form has no END to tell
  bool cut_short = false;
  uint64_t launches = 0;  // from END, or counted from LAUNCH lines
  uint64_t gpu_records = 0;
  uint64_t with_stack = 0;  // GPU records whose launch has a CPU stack; from END, or counted
  uint64_t unsampled = 0;   // GPU records without one because of --max-overhead
  uint64_t samples = 0;     // of GPU code
  uint64_t estimated = 0;   // of these: whose they are was estimated
  // What of it a CPU stack explains: of GPU records; in a profile without those and without losses of them, of
  // launches (LAUNCH lines), or else of samples.
  profile::WorkCoverage covered;
  uint64_t skipped_bad = 0;
  uint64_t skipped_unknown = 0;
  uint64_t records = 0;  // GPU, LAUNCH and EUSTALL lines
  uint64_t events = 0;   // EVENT, CALL and SPAN lines: there is a timeline

  // The sum of COVERAGE lines of that word.
  [[nodiscard]] uint64_t counted(profile::CoverageCount what) const;

  [[nodiscard]] uint64_t dropped_samples() const;
  // Samples go missing where there are most of them: where more than a hundredth did, shares of the rest tell nothing.
  [[nodiscard]] bool samples_tell() const;
};

enum class RowKind : uint8_t { gpu, launch, host };

// One cache line: in a large profile, finding a row is waiting for its memory.
struct alignas(64) Row {
  RowKind kind = RowKind::gpu;
  uint32_t ref = 0;  // see Aggregate::work()
  Weight weight;
  uint64_t min_ns = 0;  // of one record; 0 and 0 where nothing was timed
  uint64_t max_ns = 0;
  uint64_t busy_ns = 0;  // SHARE; of gpu rows
  uint64_t exclusive_ns = 0;
};

// What tells samples apart, but for their slice.
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

// How the time of all WINDOWs went on one device.
struct DeviceTime {
  uint64_t busy_ns = 0;
  uint64_t exclusive_ns = 0;
  uint64_t idle_ns = 0;
};

struct IdleRow {
  profile::DeviceId device{};
  profile::WorkId work{};  // 0: nothing was launched any more
  uint64_t ns = 0;
};

struct LatencyRow {
  profile::WorkId work{};
  profile::Phase phase = profile::Phase::call_to_queued;
  uint64_t count = 0;
  uint64_t sum_ns = 0;
  uint64_t min_ns = 0;
  uint64_t max_ns = 0;
  std::vector<profile::Latency::Bucket> buckets;  // ascending, each once; bounds: profile/latency_bucket.h
};

struct Aggregate {
  ProfileInfo info;
  profile::Tables tables;
  LargeVector<Row> rows;                 // gpu, launch; in the order of their first appearance
  std::vector<double> squares;           // with AggregateOptions::squares; sums of squared ns, in the order of `rows`
  std::vector<uint64_t> queue_ns;        // with AggregateOptions::queue; in the order of `rows`, for the first of them
  uint64_t queue_total_ns = 0;           // the same of `queue_ns`; UINT64_MAX where they come to more
  LargeVector<SampleRow> samples;        // in the same order
  StallSlices stall_slices;              // with AggregateOptions::stall_slices; of the samples
  SliceSums slices;                      // with AggregateOptions::slices; of what is measured,
  SliceSums sample_slices;               // and of samples where that is gpu or samples
  LargeVector<Row> host;                 // host rows, with AggregateOptions::host
  std::vector<IdleRow> idle;             // with AggregateOptions::idle; one a device and WORK
  std::vector<LatencyRow> latencies;     // with AggregateOptions::latency; one a WORK and phase
  std::vector<profile::Window> windows;  // in the file's order
  Weight total;                          // of `rows`; no sum of rows overflows, since this one does not
  uint64_t sample_count = 0;             // the same of `samples`
  Weight host_total;                     // of HOST lines, collected or not; the same for these four
  uint64_t busy_ns = 0;
  uint64_t exclusive_ns = 0;
  uint64_t idle_ns = 0;  // fits together with busy_ns
  uint64_t window_ns = 0;
  std::map<profile::DeviceId, DeviceTime> device_times;  // from SHARE and IDLE lines
  bool has_shares = false;           // there are SHARE lines: the weights busy, exclusive and idle mean something
  uint64_t interval_ns = 0;          // how long a slice is; 0: the profile does not say
  std::optional<SliceRange> window;  // with AggregateOptions::window: the slices that rows are of

  // The time of these slices; nothing where rows are of the whole recording.
  [[nodiscard]] std::optional<TimeWindow> looked_at() const {
    return window ? std::optional(window_of(*window, interval_ns)) : std::nullopt;
  }
  // Whether there is nothing to make a command's output of.
  [[nodiscard]] bool no_rows() const { return rows.empty() && samples.empty() && host.empty(); }

  [[nodiscard]] const profile::Work& work(const Row& row) const { return tables.works()[row.ref]; }
  [[nodiscard]] const profile::Work& work(const SampleRow& row) const { return *tables.work(row.key.work); }
};

// What to keep besides `rows`. All lines are checked in any case, and summed up but for those of LATENCY.
struct AggregateOptions {
  bool host = false;
  bool idle = false;
  bool latency = false;
  bool squares = false;
  bool queue = false;
  bool stall_slices = false;
  std::optional<Measure> slices;
  // Only the slices that a part of it lies in make rows and their sums. `info` is always about the whole recording, and
  // so is what is in no slice.
  std::optional<TimeWindow> window;
};

Result<Aggregate> aggregate(profile::Reader& reader, const AggregateOptions& options = {});

}  // namespace gpuprof::analyze
