// The complete profile that subsets are taken from: its definitions, META, WINDOW and END.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "profile/records.h"
#include "profile/slice_grid.h"
#include "profile/tables.h"

namespace gpuprof::analyze {

using MetaLines = std::vector<std::pair<std::string, std::string>>;

// One recording of a merged profile.
struct MergedRecording {
  std::string id;  // META recording.rows
  std::vector<profile::Window> windows;
  std::set<profile::DeviceId> devices;  // with busy or idle time in the recording
};

// Collects everything but the rows. Memory grows with definitions, META and WINDOW lines.
class CompleteProfile {
 public:
  // Takes records of merge(), which has checked their ids; ids start at 1. Returns true if the record is a row: take()
  // does not process rows, so the caller must.
  Result<bool> take(const profile::Record& record);

  [[nodiscard]] const profile::Tables& tables() const { return tables_; }

  // Returns META lines other than those of process_meta() and recordings().
  [[nodiscard]] const MetaLines& meta() const { return meta_; }
  // META lines "process.<pid>.*", by pid.
  [[nodiscard]] const std::map<uint32_t, MetaLines>& process_meta() const { return process_meta_; }
  [[nodiscard]] const MetaLines& recordings() const { return recordings_; }  // META recording and recording.part
  [[nodiscard]] const std::vector<profile::Window>& windows() const { return windows_; }
  // The first element has the WINDOW lines before any META recording.rows, which are those of all recordings.
  [[nodiscard]] const std::vector<MergedRecording>& merged() const { return merged_; }
  // Index in merged() of the recording to which the last record belongs.
  [[nodiscard]] size_t current() const { return current_; }
  [[nodiscard]] const std::optional<profile::End>& end() const { return end_; }
  // Describes differences between END's counts and the rows. Subsets do not show them: each has its own END.
  [[nodiscard]] std::vector<std::string> mismatches() const;

  // True if GPU work is missing, so that devices may have been busy in time without records (see ProfileInfo).
  [[nodiscard]] bool lacks_gpu_work() const { return lacks_gpu_work_; }

  [[nodiscard]] uint64_t start_ns() const { return start_ns_; }
  [[nodiscard]] const profile::SliceGrid& grid() const { return grid_.grid(); }
  [[nodiscard]] bool has_grid() const { return grid().interval_ns != 0; }
  // Returns the slice that contains the time. GPU rows use their end time. Needs has_grid().
  [[nodiscard]] uint64_t slice_of(uint64_t ns) const { return ns <= start_ns_ ? 0 : grid().slice_at(ns - start_ns_); }

 private:
  void take_meta(const profile::Meta& meta);
  void count(const profile::Record& row);
  void begin_recording(std::string_view id);

  profile::Tables tables_;
  MetaLines meta_;
  std::map<uint32_t, MetaLines> process_meta_;
  MetaLines recordings_;
  std::vector<profile::Window> windows_;
  std::vector<MergedRecording> merged_{1};
  std::map<std::string, size_t, std::less<>> positions_;  // in merged_, by id
  size_t current_ = 0;
  std::optional<profile::End> end_;
  uint64_t gpu_records_ = 0;
  uint64_t gpu_ns_ = 0;
  uint64_t samples_ = 0;
  bool lacks_gpu_work_ = false;
  uint64_t start_ns_ = 0;
  profile::SliceGridReader grid_;
};

// The fields of a row that decide which subset it belongs to. nullopt: the row lacks the field. Ids are never 0.
struct RowOwner {
  std::optional<profile::WorkId> work;
  std::optional<profile::ProcessId> process;
  std::optional<profile::DeviceId> device;
  std::optional<uint64_t> slice;           // slice in which the GPU work ended or the time passed
  std::optional<profile::StackId> ustack;  // set only for rows without a WORK
};

RowOwner owner_of(const profile::Record& row, const CompleteProfile& whole);

}  // namespace gpuprof::analyze
