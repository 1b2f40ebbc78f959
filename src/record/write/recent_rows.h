// Keeps the lines of the last seconds in memory, for `record --last`. Definitions are kept for good, because later
// lines refer to them.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"
#include "profile/records.h"
#include "record/memory_budget.h"

namespace gpuprof::record {

// An order to the writer thread: write the rows of a time to another file. Times are CLOCK_MONOTONIC.
struct Rewrite {
  UniqueFd fd;
  // The lines of all slices that have a part in this time.
  uint64_t from_ns = 0;
  uint64_t until_ns = UINT64_MAX;
  uint64_t window_ns = 0;   // start of the window that is open now; 0: none
  uint64_t end_ns = 0;      // time of the END line
  bool is_swept = true;     // busy and idle times are complete up to `until_ns`
  bool is_complete = true;  // write WINDOW and END lines; false: later lines follow in this file
  bool forgets = false;     // drop the rows before `until_ns` after they have been written
  std::string recording;    // value of META recording of a file of a rotation; empty: that of the complete recording

  // The writer thread sets these. `written` comes last, with release order.
  Status status;
  profile::End sums;
  uint64_t begin_ns = 0;  // begin of the first kept slice
  uint64_t bytes = 0;
  std::atomic<bool> written = false;
};

class RecentRows {
 public:
  // `start_ns` and `interval_ns` are those of the profile's META lines. Keeps at least the last `last_ns`. Files that
  // lack rows say so by `option` in META recording.window, files of a rotation by META recording.rotation.
  RecentRows(uint64_t start_ns, uint64_t interval_ns, uint64_t last_ns, std::string option,
             std::shared_ptr<MemoryBudget> memory)
      : start_ns_(start_ns),
        interval_ns_(interval_ns),
        last_ns_(last_ns),
        option_(std::move(option)),
        memory_(std::move(memory)) {}

  // Returns false for records that describe the complete recording: COVERAGE, LATENCY and END. write() makes the
  // COVERAGE of launches without GPU work anew, because this is a loss.
  static bool takes(const profile::Record& record);
  // `line` is the text of the record. Call it only if takes() is true.
  void add(const profile::Record& record, std::string_view line, uint64_t now_ns);
  // Drops the lines of slices that are older than needed.
  void forget(uint64_t now_ns);
  void forget_before(uint64_t ns);

  // Appends the lines of a complete file to `text`, and sets the sums of `order`.
  void write(Rewrite& order, std::string& text) const;

 private:
  struct Slice {
    std::string text;
    std::string shares;  // SHARE and IDLE lines
    profile::End sums;
    std::map<profile::ProcessId, uint64_t> without_record;  // launches without GPU work
    std::map<profile::DeviceId, uint64_t> charged;          // busy and idle time
    std::set<profile::DeviceId> devices;                    // with GPU work
  };
  struct KnownWork {
    profile::DeviceId device{};
    bool has_stack = false;
  };

  [[nodiscard]] uint64_t slice_of(uint64_t ns) const { return ns <= start_ns_ ? 0 : (ns - start_ns_) / interval_ns_; }
  [[nodiscard]] std::string end_of(const Rewrite& order) const;
  [[nodiscard]] KnownWork known(profile::WorkId id) const;
  void count(const profile::Record& record, Slice& slice) const;
  [[nodiscard]] std::vector<profile::Window> windows_of(const Rewrite& order) const;
  // A gap is charged when the next work is known. Charges the gaps that go on at the end of the file to no work.
  void charge_gaps(const Rewrite& order, const std::vector<profile::Window>& windows, std::string& text) const;

  uint64_t start_ns_;
  uint64_t interval_ns_;
  uint64_t last_ns_;
  std::string option_;
  std::shared_ptr<MemoryBudget> memory_;
  std::string recording_;  // value of META recording
  std::string window_;     // value of META recording.window
  std::string definitions_;
  std::vector<KnownWork> works_;                           // index: WORK id
  std::map<profile::WorkId, profile::ProcessId> no_work_;  // WORKs of launches without GPU work
  std::map<uint64_t, Slice> slices_;
  uint64_t first_ = 0;  // earlier slices were dropped
  std::vector<profile::Window> windows_;
};

}  // namespace gpuprof::record
