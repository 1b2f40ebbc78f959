// Turns batches into profile lines: names addresses, gives ids, writes. Runs on a thread of its own, because reading
// the symbols of a large library takes seconds and the rings must be drained meanwhile.
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
#include "record/process/instruments.h"
#include "record/signals.h"
#include "symbolize/reading_budget.h"

namespace gpuprof::record {

class ProfileSink {
 public:
  // `instruments`: their innermost frames are left out. What the budget has left out is told in the profile.
  // `live` sees all records as well, and lives longer; none: null.
  ProfileSink(UniqueFd fd, Instruments instruments,
              std::shared_ptr<MemoryBudget> memory = std::make_shared<MemoryBudget>(), LiveSums* live = nullptr);
  ~ProfileSink();
  ProfileSink(const ProfileSink&) = delete;
  ProfileSink& operator=(const ProfileSink&) = delete;

  void put(Batch batch);  // never waits for the disk

  // Whether writing has failed (disk full, closed pipe).
  [[nodiscard]] bool failed() const;
  // Batches that have not been written yet.
  [[nodiscard]] size_t waiting() const;

  // Writes what is left and ends the thread. The time to name addresses is limited from here on. A pipe's reader that
  // takes nothing must not keep us for ever: a signal that comes now, and says that we should end, gives it up.
  Status finish(Signals& signals);
  Status finish();  // waits for it

  [[nodiscard]] uint64_t bytes_written() const;
  // After finish(): GPU records, or counted launches, whose stack turned out to hold no frame but our own.
  [[nodiscard]] uint64_t without_frames() const;
  [[nodiscard]] uint64_t samples_without_frames() const;
  [[nodiscard]] uint64_t stacks() const;                                    // distinct ones in the profile
  [[nodiscard]] const symbolize::ReadingBudget::LeftOut& left_out() const;  // for want of which names are missing

 private:
  class BatchWriter;
  void loop();
  void close();
  [[nodiscard]] bool ended() const;

  std::atomic<bool> give_up_ = false;  // on a reader
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
