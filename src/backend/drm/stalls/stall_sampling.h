// EU stall sampling in a recording: streams are read, samples find their kernels, and the event sink is told.
#pragma once

#include <map>
#include <string>
#include <utility>

#include "backend/backend.h"
#include "backend/drm/stalls/stall_join.h"
#include "backend/drm/stalls/stall_reader.h"
#include "backend/drm/submitters.h"

namespace gpuprof::backend::drm {

class StallSampling final : public StallSink, public StallRecordSink {
 public:
  StallSampling(const Recording& recording, Submitters& submitters, StallReader reader)
      : sink_(recording.sink), submitters_(submitters), reader_(std::move(reader)), join_(*this) {}

  // What is told of jobs and batches.
  [[nodiscard]] StallJoin& join() { return join_; }

  // Takes what has come; while `on` is false it counts nowhere. How many reads there were.
  size_t drain(bool on, uint64_t now_ns);
  void stop(uint64_t now_ns);
  // Before its kernels are forgotten.
  void end_source(SourceId source, uint64_t now_ns);

  void on_kernel(const Job& job, uint64_t start_ns, const std::string& kernel) override;
  void on_stalls(SourceId source, uint32_t window, const At& at, const StallCounts& counts, bool estimated) override;
  void on_window(SourceId source, const SampleWindow& window) override;
  void on_unknown(uint32_t device, uint64_t time_ns, const StallCounts& counts) override;

  void on_record(const StallGt& gt, const StallRecord& record) override;
  void on_dropped(const StallGt& gt) override;

 private:
  EventSink& sink_;
  Submitters& submitters_;
  StallReader reader_;
  StallJoin join_;
  std::map<uint32_t, std::string> buses_;  // by device
  uint64_t now_ns_ = 0;
  bool on_ = false;
};

}  // namespace gpuprof::backend::drm
