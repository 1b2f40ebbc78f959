// EU stall sampling in a recording: streams are read, samples find their kernels, and the event sink is told.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "backend/backend.h"
#include "backend/drm/stalls/kernel_tally.h"
#include "backend/drm/stalls/stall_join.h"
#include "backend/drm/stalls/stall_reader.h"
#include "backend/drm/submitters.h"

namespace gpuprof::backend::drm {

class StallSampling final : public StallSink, public StallRecordSink {
 public:
  // Without a reader kernels are known, and no samples.
  StallSampling(const Recording& recording, Submitters& submitters, std::optional<StallReader> reader)
      : sink_(recording.sink), submitters_(submitters), reader_(std::move(reader)), join_(*this) {}

  // What is told of jobs and batches.
  [[nodiscard]] StallJoin& join() { return join_; }

  // Takes what has come; while `on` is false it counts nowhere. How many reads there were.
  size_t drain(bool on, uint64_t now_ns);
  // `now`: the time. Reads what is left, as long as that has an end.
  void stop(const std::function<uint64_t()>& now);
  // Before its kernels are forgotten, and while it can be told of.
  void end_source(SourceId source, uint64_t now_ns);

  void on_kernel(const Job& job, uint64_t start_ns, const std::string& kernel, bool alone) override;
  void on_stalls(SourceId source, uint32_t window, const At& at, const StallCounts& counts, bool estimated) override;
  void on_window(SourceId source, const SampleWindow& window) override;
  void on_unknown(uint32_t device, uint64_t time_ns, const StallCounts& counts) override;

  void on_record(const StallGt& gt, const StallRecord& record, uint64_t since_ns) override;
  void on_dropped(const StallGt& gt) override;

 private:
  [[nodiscard]] uint64_t period() const { return reader_ ? reader_->period() : 0; }
  void tell_reads();

  static constexpr unsigned kLastTurns = 64;  // of reads at the end, kMaxReads each: more than all buffers hold

  EventSink& sink_;
  Submitters& submitters_;
  std::optional<StallReader> reader_;
  KernelTally kernels_;
  StallJoin join_;
  std::map<uint32_t, std::string> buses_;  // by device
  uint64_t now_ns_ = 0;
  bool on_ = false;
  bool whole_ = false;  // nothing was left to read
};

}  // namespace gpuprof::backend::drm
