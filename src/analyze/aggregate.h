// Reads a profile to its end and adds up what belongs together: one row for each WORK, or each distinct stall. Memory
// grows with the rows, not with the records. Flame trees and reports are made from the rows.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "analyze/flame_tree.h"
#include "base/result.h"
#include "profile/coverage.h"
#include "profile/reader.h"
#include "profile/tables.h"

namespace gpuprof::analyze {

// What the profile's records measure, which decides the default weight. HOST lines do not count for this.
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
  // What of it a CPU stack explains: of GPU records; in a profile without those and without losses of them, of
  // launches (LAUNCH lines), or else of stall samples.
  profile::WorkCoverage covered;
  uint64_t skipped_bad = 0;
  uint64_t skipped_unknown = 0;
  uint64_t records = 0;  // GPU, LAUNCH and EUSTALL lines
  uint64_t events = 0;   // EVENT, CALL and SPAN lines: there is a timeline
};

enum class RowKind : uint8_t { gpu, launch, host, stall };

// What tells one EUSTALL row from another.
struct StallKey {
  profile::StringId process{};  // its name
  uint32_t pid = 0;
  profile::StackId ustack{};
  profile::StackId kstack{};
  uint32_t gpu_file = 0;
  uint32_t gpu_symbol = 0;
  uint32_t insn_text = 0;
  uint32_t stall_type = 0;
  uint64_t offset = 0;
  bool operator==(const StallKey&) const = default;
};

// One cache line: in a large profile, finding a row is waiting for its memory.
struct alignas(64) Row {
  RowKind kind = RowKind::gpu;
  uint32_t ref = 0;  // see Aggregate::work() and stall()
  Weight weight;
  uint64_t min_ns = 0;  // of one record; 0 and 0 where nothing was timed
  uint64_t max_ns = 0;
  uint64_t busy_ns = 0;  // SHARE; of gpu rows
  uint64_t exclusive_ns = 0;
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
  std::vector<Row> rows;                 // gpu, launch, stall; in the order of their first appearance
  std::vector<StallKey> stalls;          // of the stall rows
  std::vector<Row> host;                 // host rows, with AggregateOptions::host
  std::vector<IdleRow> idle;             // with AggregateOptions::idle; one a device and WORK
  std::vector<LatencyRow> latencies;     // with AggregateOptions::latency; one a WORK and phase
  std::vector<profile::Window> windows;  // in the file's order
  Weight total;                          // of `rows`; no sum of rows overflows, since this one does not
  Weight host_total;                     // of HOST lines, collected or not; the same for these four
  uint64_t busy_ns = 0;
  uint64_t exclusive_ns = 0;
  uint64_t idle_ns = 0;  // fits together with busy_ns
  uint64_t window_ns = 0;
  std::map<profile::DeviceId, DeviceTime> device_times;  // from SHARE and IDLE lines
  bool has_shares = false;  // there are SHARE lines: the weights busy, exclusive and idle mean something

  // Of a gpu, launch or host row; of a stall row.
  [[nodiscard]] const profile::Work& work(const Row& row) const { return tables.works()[row.ref]; }
  [[nodiscard]] const StallKey& stall(const Row& row) const { return stalls[row.ref]; }
};

// What to keep besides `rows`. All lines are checked and summed in any case.
struct AggregateOptions {
  bool host = false;
  bool idle = false;
  bool latency = false;
};

Result<Aggregate> aggregate(profile::Reader& reader, const AggregateOptions& options = {});

}  // namespace gpuprof::analyze
