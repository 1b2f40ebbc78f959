// Writes batches to the profile on its own thread. Reading symbols takes seconds, during which the main thread must
// read the rings.
#pragma once

#include <atomic>
#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"
#include "record/batch.h"
#include "record/live/live_sums.h"
#include "record/memory_budget.h"
#include "record/process/profiler_libraries.h"
#include "record/signals.h"
#include "record/write/longest.h"
#include "record/write/recent_rows.h"
#include "symbolize/symbolizer.h"

namespace gpuprof::record {

class ProfileSink {
 public:
  struct Recent {
    std::unique_ptr<RecentRows> rows;
    std::string range;  // take_longest() observes NVTX ranges with this name; empty: none
  };

  // Removes frames in `profiler_libraries` from the innermost end of stacks. Writes the losses that `memory` counts to
  // the profile. `live` receives all records. It may be null, and must outlive this object. `names` names the code of
  // files; empty: they are read in this process. Batches may have a Rewrite only if `recent.rows` is not null.
  ProfileSink(UniqueFd fd, ProfilerLibraries profiler_libraries,
              std::shared_ptr<MemoryBudget> memory = std::make_shared<MemoryBudget>(), LiveSums* live = nullptr,
              symbolize::MakeFileNames names = {}, Recent recent = {});
  ~ProfileSink();
  ProfileSink(const ProfileSink&) = delete;
  ProfileSink& operator=(const ProfileSink&) = delete;

  void put(Batch batch);  // does not wait for the disk

  // Returns whether writing has failed, for example because the disk is full or the pipe is closed.
  [[nodiscard]] bool failed() const;
  [[nodiscard]] size_t waiting() const;
  // Returns the longest times since the last call, except that of idle devices, and forgets them.
  Longest take_longest();

  // Writes the remaining batches and ends the thread. Limits the time for symbolization. If the output is a pipe that
  // nobody reads, a stop signal ends the wait. A stop signal also ends symbolization; with `soon`, a second does.
  Status finish(Signals& signals, bool soon);
  Status finish();  // without signals: waits without a limit

  [[nodiscard]] uint64_t bytes_written() const;
  // Call it after finish(). Returns how many GPU records or counted launches had a stack with only profiler frames.
  [[nodiscard]] uint64_t without_frames() const;
  [[nodiscard]] uint64_t samples_without_frames() const;
  [[nodiscard]] uint64_t stacks() const;
  [[nodiscard]] const symbolize::ReadingBudget::LeftOut& left_out() const;

 private:
  class BatchWriter;
  void loop();
  void close();
  [[nodiscard]] bool ended() const;

  std::atomic<bool> give_up_ = false;  // true: the writer thread no longer waits for a pipe's reader
  std::unique_ptr<BatchWriter> writer_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Batch> queue_;
  bool stop_ = false;
  bool ended_ = false;
  Status status_;
  std::thread thread_;
};

}  // namespace gpuprof::record
