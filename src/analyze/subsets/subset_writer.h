// Writes a profile that is a subset of another: selected rows, their definitions, the META lines, and its own END.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>

#include "analyze/merge/merge.h"
#include "analyze/rows/time_window.h"
#include "analyze/subsets/complete_profile.h"
#include "analyze/subsets/subset_ids.h"

namespace gpuprof::analyze {

// Which META lines of the complete profile a subset gets.
struct SubsetMeta {
  bool sums = true;  // write the META lines whose values merge() sums
  size_t most = std::numeric_limits<size_t>::max();
  bool parts_nested = false;  // rename "part.x" to "part.part.x", because the complete profile is a subset itself
};

// Returns whether the row is about GPU work or CPU events. LOSS and COVERAGE rows are about processes, IDLE rows about
// times without work.
bool is_of_work(const profile::Record& row);

// Returns whether the row serves to scale the sums of a recording with --max-overhead, or to compute their intervals.
bool is_scale(const profile::Record& row);

class SubsetWriter {
 public:
  // `whole` must outlive the object.
  SubsetWriter(const CompleteProfile& whole, RecordSink sink, SubsetMeta options)
      : whole_(whole), sink_(std::move(sink)), meta_(options) {}
  SubsetWriter(const SubsetWriter&) = delete;
  SubsetWriter& operator=(const SubsetWriter&) = delete;
  ~SubsetWriter() = default;

  // Writes the META lines known so far, and then `own`. A reader needs these lines before the first row.
  Status begin(const MetaLines& own);
  Status add(profile::Record row);  // adds a row whose ids are those of the complete profile
  Status add_definitions(std::span<const profile::ProcessId> processes, std::span<const profile::DeviceId> devices);

  // True unless is_of_work() is true for an added row.
  [[nodiscard]] bool is_empty() const { return is_empty_; }

  // Returns the number of launches for END: from COVERAGE if available, otherwise GPU work items plus counted launches.
  [[nodiscard]] uint64_t launches() const { return has_launches_ ? end_.launches : pieces_; }

  struct Last {
    MetaLines meta;
    bool has_windows = true;
    std::optional<TimeWindow> time;    // cut the windows to this time
    bool all_recordings = false;       // false: only windows of recordings with a row in the subset
    std::set<size_t> more_recordings;  // the windows of these, too (indexes in CompleteProfile::merged())
    std::set<uint32_t> pids;           // also write the "process.<pid>." META lines of these pids
    uint64_t launches = 0;
  };
  // Writes END only if the complete profile has one.
  Status finish(const Last& last);

  [[nodiscard]] const SubsetIds& ids() const { return ids_; }
  // True if a row of this recording was added (see CompleteProfile::merged()).
  [[nodiscard]] bool has(size_t recording) const { return recordings_.contains(recording); }

 private:
  Status put_meta();
  Status put_lines(const MetaLines& lines);
  Status begin_recording(size_t recording);
  Status put_windows(const Last& last);
  [[nodiscard]] bool count(const profile::Record& row);  // returns false if a sum exceeds 64 bits

  const CompleteProfile& whole_;
  RecordSink sink_;
  SubsetMeta meta_;
  SubsetIds ids_{whole_, sink_};
  size_t meta_written_ = 0;
  size_t recording_ = 0;         // index in CompleteProfile::merged(), as the last META recording.rows says
  std::set<size_t> recordings_;  // with rows in the subset
  profile::End end_;
  uint64_t pieces_ = 0;  // GPU work items and counted launches
  bool has_launches_ = false;
  bool is_empty_ = true;
};

}  // namespace gpuprof::analyze
