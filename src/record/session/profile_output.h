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

namespace gpuprof::record {

class ProfileOutput {
 public:
  ProfileOutput(std::shared_ptr<MemoryBudget> memory, uint64_t interval_ns)
      : memory_(std::move(memory)), interval_ns_(interval_ns) {}

  Status open(const std::string& name, const std::optional<TargetUser>& owner);
  // Gives the file its name. If that fails, finishing the file at the end of the recording tries again.
  void take_name();
  // `live` receives all records that are written; it may be null.
  void begin(const backend::Backends& backends, LiveSums* live);

  // Writes a batch, including the losses since the last batch. `engine` may be null.
  void write(Correlator& correlator, const Channel& channel, const StackEngine* engine);
  // Writes a batch if the last one is old or if many rows wait, unless too many batches wait for the disk.
  void write_if_due(uint64_t now_ns, Correlator& correlator, const Channel& channel, const StackEngine* engine);
  [[nodiscard]] bool failed() const { return sink_->failed(); }
  // Writes the END record and waits until the sink has written everything.
  // `soon`: within about a second, without the names that take longer.
  Status finish(const Totals& totals, uint64_t end_ns, Signals& signals, bool soon);

  [[nodiscard]] OutputFile& file() { return *file_; }
  [[nodiscard]] const ProfileSink& sink() const { return *sink_; }

 private:
  std::shared_ptr<MemoryBudget> memory_;
  uint64_t interval_ns_;
  uint64_t next_ns_ = 0;
  std::optional<OutputFile> file_;
  std::unique_ptr<ProfileSink> sink_;
  // The losses that have been written. The engine and the channel report sums since the start, so only the growth is
  // written.
  StackLosses engine_;
  uint64_t malformed_ = 0;
  uint64_t refused_ = 0;
};

}  // namespace gpuprof::record
