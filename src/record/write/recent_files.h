// Decides when `record --last` and `--rotate` write which rows to which file. The writer thread writes the files; this
// class opens and names them.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/files/output_file.h"
#include "base/result.h"
#include "record/memory_budget.h"
#include "record/target/target_user.h"
#include "record/write/longest.h"
#include "record/write/profile_sink.h"
#include "record/write/recent_rows.h"

namespace gpuprof::record {

// Returns a random value for META recording, or "" if there is no randomness.
std::string new_recording_id();

class RecentFiles {
 public:
  struct Options {
    uint64_t last_ns = 0;    // keep only the rows of this time; 0: all
    uint64_t rotate_ns = 0;  // begin a new file after this time; 0: never. At most one of the two is not 0.
    unsigned keep = 24;      // with rotate_ns: how many files besides the current one
    Longest trigger;         // with last_ns: write a file after an event that is longer than this; 0: no event is
    std::string range;       // name of the NVTX ranges of trigger.range_ns and trigger.lag_ns
    [[nodiscard]] bool any() const { return last_ns != 0 || rotate_ns != 0; }
  };
  struct Time {
    uint64_t now_ns = 0;
    uint64_t swept_ns = 0;   // busy and idle times are complete up to this time
    uint64_t window_ns = 0;  // start of the window that is open; 0: none
  };
  // What the file at the end has.
  struct Kept {
    uint64_t ns = 0;
    profile::End sums;
    uint64_t bytes = 0;
    std::vector<std::string> earlier;  // names of the rotated files that are left, oldest first
  };

  // `start_ns` and `interval_ns` are those of the profile's META lines. `name` is the output.
  RecentFiles(const Options& options, uint64_t start_ns, uint64_t interval_ns, std::string name,
              std::optional<TargetUser> owner);

  [[nodiscard]] ProfileSink::Recent for_sink(std::shared_ptr<MemoryBudget> memory) const;

  // Writes the rows of the last time to a file of their own, once the present slice is complete. `why` is shown to the
  // user. `late_ns`: how long ago the event may have begun.
  void want_snapshot(uint64_t now_ns, const std::string& why, uint64_t late_ns = 0);
  // `longest`: since the last call.
  void look_at_trigger(uint64_t now_ns, const Longest& longest);

  // Returns the end of the next snapshot's last slice if that slice is complete; else 0.
  [[nodiscard]] uint64_t due_snapshot(uint64_t now_ns) const;
  // Returns an order for the writer thread; null: there is nothing to do. Call it often.
  std::shared_ptr<Rewrite> next(const Time& time);
  // Returns the file to which the writer thread now writes, if it has changed.
  std::optional<OutputFile> take_current();

  // Returns the orders for the files that have not been written yet. Call it before last(), when all busy times are
  // complete.
  std::vector<std::shared_ptr<Rewrite>> rest(uint64_t end_ns);
  // Returns the order for the last file. Give the writer thread no other after it.
  Result<std::shared_ptr<Rewrite>> last(uint64_t end_ns);
  // Call it after the writer thread has ended. Gives the last file its name.
  Result<Kept> end();

 private:
  struct Wanted {
    uint64_t from_ns = 0;
    uint64_t until_ns = 0;
    uint64_t latest_ns = 0;  // write it then, even if busy times are missing
    std::string why;         // empty: the file is one of a rotation
  };
  struct Pending {
    OutputFile file;
    std::shared_ptr<Rewrite> order;
    std::string why;
    bool is_current = false;
  };

  [[nodiscard]] uint64_t end_of_slice(uint64_t ns) const;
  [[nodiscard]] bool open(const std::string& name, bool keep_old);  // warns, and returns false, if it fails
  std::shared_ptr<Rewrite> begin(const Wanted& wanted, const Time& time);
  std::shared_ptr<Rewrite> begin_anew(uint64_t now_ns);
  std::shared_ptr<Rewrite> current_order(uint64_t now_ns, bool is_complete);
  void end_pending();
  void forget_oldest();

  Options options_;
  uint64_t start_ns_;
  uint64_t interval_ns_;
  std::string name_;
  std::optional<TargetUser> owner_;
  uint64_t begin_ns_;  // first time of the current file
  uint64_t anew_ns_;   // when to begin the current file anew
  uint64_t next_trigger_ns_ = 0;
  bool was_idle_ = false;  // a device was idle for too long when look_at_trigger() was called last
  unsigned number_ = 0;    // of files besides the current one
  std::deque<Wanted> wanted_;
  std::deque<Pending> pending_;  // more than one only at the end
  std::optional<OutputFile> current_;
  std::deque<OutputFile> rotated_;
};

}  // namespace gpuprof::record
