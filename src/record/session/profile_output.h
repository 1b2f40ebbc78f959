// Writes the profile of a session to a file, in batches. Adds the losses of the recorder itself.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "backend/backend.h"
#include "base/files/output_file.h"
#include "base/result.h"
#include "record/bpf/stack_engine.h"
#include "record/ipc/channel.h"
#include "record/join/correlator.h"
#include "record/live/live_sums.h"
#include "record/memory_budget.h"
#include "record/target/target_user.h"
#include "record/write/profile_sink.h"
#include "record/write/recent_files.h"

namespace gpuprof::record {

class ProfileOutput {
 public:
  // `write_ns`: time between two batches.
  ProfileOutput(std::shared_ptr<MemoryBudget> memory, uint64_t write_ns)
      : memory_(std::move(memory)), write_ns_(write_ns) {}

  // `must_be_file`: fails for a pipe or a device.
  Status open(const std::string& name, const std::optional<TargetUser>& owner, bool must_be_file);
  // Gives the file its name. If that fails, finishing the file at the end of the recording tries again.
  // `rotates`: also renames the numbered files of an earlier rotation.
  void take_name(bool rotates);
  // `live` receives all records that are written; it may be null. `recent`: null if the profile keeps everything.
  void begin(const backend::Backends& backends, LiveSums* live, std::unique_ptr<RecentFiles> recent);

  // Writes a batch, including the losses since the last batch. `engine` may be null.
  void write(Correlator& correlator, const Channel& channel, const StackEngine* engine);
  // Writes a batch if the last one is old or if many rows wait, unless too many batches wait for the disk.
  // Call it once per poll iteration, after the rings have been read.
  void write_if_due(uint64_t now_ns, Correlator& correlator, Channel& channel, const StackEngine* engine);
  [[nodiscard]] bool failed() const { return sink_->failed(); }
  // Writes the END record and waits until the sink has written everything.
  // `soon`: within about a second, without the names that take longer.
  Status finish(Correlator& correlator, uint64_t end_ns, Signals& signals, bool soon);

  [[nodiscard]] OutputFile& file() { return *file_; }
  [[nodiscard]] const ProfileSink& sink() const { return *sink_; }
  [[nodiscard]] RecentFiles* recent() { return recent_.get(); }
  // What the file has if recent() is not null. Call it after finish().
  [[nodiscard]] const std::optional<RecentFiles::Kept>& kept() const { return kept_; }

 private:
  void follow_recent(uint64_t now_ns, Correlator& correlator);
  // Makes targets send what they hold, so that a snapshot of --last need not wait for the usual delay of busy times.
  // Returns true once, when all of it has arrived.
  bool hurry_snapshot(uint64_t now_ns, Correlator& correlator, Channel& channel);
  Status finish_recent(Batch last, Correlator& correlator, Signals& signals, bool soon);
  Longest take_longest(Correlator& correlator);

  std::shared_ptr<MemoryBudget> memory_;
  uint64_t write_ns_;
  uint64_t next_ns_ = 0;
  uint64_t swept_ns_ = 0;
  struct Hurry {
    uint64_t until_ns = 0;   // end of the snapshot
    uint64_t latest_ns = 0;  // wait until then
    bool is_flushed = false;
    bool is_done = false;
  };
  Hurry hurry_;
  std::unique_ptr<RecentFiles> recent_;
  std::optional<RecentFiles::Kept> kept_;
  std::optional<OutputFile> file_;
  std::unique_ptr<ProfileSink> sink_;
  // The losses that have been written. The engine and the channel report sums since the start, so only the growth is
  // written.
  StackLosses engine_;
  uint64_t malformed_ = 0;
  uint64_t refused_ = 0;
};

}  // namespace gpuprof::record
