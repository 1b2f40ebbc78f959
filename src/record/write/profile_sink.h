// Writes batches to the profile on its own thread, because reading symbols takes seconds and rings must be drained.
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
#include "symbolize/reading_budget.h"

namespace gpuprof::record {

class ProfileSink {
 public:
  // Removes frames in `profiler_libraries` from the innermost end of stacks. Writes to the profile
  // the losses that `memory` counts. `live` receives all records, may be null, and must outlive this object.
  ProfileSink(UniqueFd fd, ProfilerLibraries profiler_libraries,
              std::shared_ptr<MemoryBudget> memory = std::make_shared<MemoryBudget>(), LiveSums* live = nullptr);
  ~ProfileSink();
  ProfileSink(const ProfileSink&) = delete;
  ProfileSink& operator=(const ProfileSink&) = delete;

  void put(Batch batch);  // does not wait for the disk

  // Returns whether writing has failed (disk full, closed pipe).
  [[nodiscard]] bool failed() const;
  // Returns the number of unwritten batches.
  [[nodiscard]] size_t waiting() const;

  // Writes the remaining batches and ends the thread. Limits the time for symbolization. If a pipe's reader does not
  // read, a stop signal ends the wait.
  Status finish(Signals& signals);
  Status finish();  // waits without a limit

  [[nodiscard]] uint64_t bytes_written() const;
  // After finish(): GPU records, or counted launches, whose stack had only profiler frames.
  [[nodiscard]] uint64_t without_frames() const;
  [[nodiscard]] uint64_t samples_without_frames() const;
  [[nodiscard]] uint64_t stacks() const;                                    // distinct stacks in the profile
  [[nodiscard]] const symbolize::ReadingBudget::LeftOut& left_out() const;  // why names are missing

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
