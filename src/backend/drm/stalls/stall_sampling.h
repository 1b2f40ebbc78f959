// Samples EU stalls in a recording: reads the streams, attributes samples to kernels, and sends them to the sink.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "backend/backend.h"
#include "backend/drm/stalls/kernel_counters.h"
#include "backend/drm/stalls/stall_join.h"
#include "backend/drm/stalls/stall_reader.h"
#include "backend/drm/submitters.h"

namespace gpuprof::backend::drm {

class StallSampling final : public StallSink, public StallRecordSink {
 public:
  // If `reader` is nullopt, reports kernels but no samples.
  StallSampling(const Recording& recording, Submitters& submitters, std::optional<StallReader> reader)
      : sink_(recording.sink), submitters_(submitters), reader_(std::move(reader)), join_(*this) {}

  [[nodiscard]] StallJoin& join() { return join_; }

  // Reads new records. If `on` is false, discards them. Returns 0 if there were none.
  size_t drain(bool on, uint64_t now_ns);
  // Ends sampling. Reads the remaining records, with at most kMaxFinalReads calls of drain(). `now` returns the
  // current time.
  void stop(const std::function<uint64_t()>& now);
  // Attributes the last samples of sources that will end. Must be called while the sink still accepts their events.
  void flush(uint64_t now_ns) { join_.flush(now_ns, period()); }
  void end_source(SourceId source);

  void on_kernel(const Job& job, uint64_t start_ns, const std::string& kernel, bool alone) override;
  void on_stalls(SourceId source, uint32_t window, const At& at, const StallCounts& counts, bool estimated) override;
  void on_window(SourceId source, const SampleWindow& window) override;
  void on_unknown(uint32_t device, uint64_t time_ns, const StallCounts& counts) override;

  void on_record(const StallGt& gt, const StallRecord& record, uint64_t since_ns) override;
  void on_dropped(const StallGt& gt) override;

 private:
  [[nodiscard]] uint64_t period() const { return reader_ ? reader_->period() : 0; }
  void report_reads();

  // Limit of drain() calls in stop(). It is enough to empty all buffers.
  static constexpr unsigned kMaxFinalReads = 64;

  EventSink& sink_;
  Submitters& submitters_;
  std::optional<StallReader> reader_;
  KernelCounters kernels_;
  StallJoin join_;
  std::map<uint32_t, std::string> buses_;
  uint64_t now_ns_ = 0;
  bool on_ = false;
  bool whole_ = false;  // the last drain() read all new records
};

}  // namespace gpuprof::backend::drm
