// Attributes samples of GPU code to launches and sums them up. WindowSampleJoin does this for samples without a
// correlation id.
#pragma once

#include "backend/event_sink.h"
#include "record/join/context/context.h"
#include "record/join/context/parts.h"
#include "record/join/context/pending.h"
#include "record/join/context/work_event.h"
#include "record/join/launches/launch_table.h"
#include "record/join/samples/instruction_counts.h"
#include "record/join/samples/loaded_kernels.h"
#include "record/join/samples/sampled_code.h"
#include "record/join/samples/window_sample_join.h"
#include "record/join/sums/sample_rows.h"
#include "record/process/producers.h"

namespace gpuprof::record {

class SampleJoin {
 public:
  SampleJoin(JoinContext& join, const JoinParts& parts);

  void on_sample(const backend::Sample& sample);
  void on_dropped(backend::SourceId source, uint64_t count);

  [[nodiscard]] WindowSampleJoin& sharing() { return window_samples_; }
  [[nodiscard]] LoadedKernels& loaded_kernels() { return loaded_; }
  [[nodiscard]] const SampledCode& places() const { return places_; }
  [[nodiscard]] InstructionCounts& counts() { return counts_; }
  [[nodiscard]] const InstructionCounts& counts() const { return counts_; }

  // See WorkJoin::retry_pending().
  void retry_pending(bool last, backend::SourceId only = 0);
  void end_source(backend::SourceId source);

  [[nodiscard]] size_t rows() const { return rows_.size(); }
  void take_new(Batch& batch) {
    rows_.take_new(batch);
    counts_.take_new(batch);
  }

 private:
  // A sample whose location, reason and period are already ids of the session.
  struct Event {
    LaunchSite site;
    uint64_t time_ns = 0;
    uint64_t count = 0;
    SampleKey key;  // add() sets `slice` and `work`
  };
  [[nodiscard]] Event event_of(const Source& source, const backend::Sample& sample);
  bool take(const Event& event, RetryPolicy policy);
  [[nodiscard]] bool is_left_out(const Event& event, const PendingLaunch* launch);
  void add(Source& source, const Event& event, const PendingLaunch* launch);

  JoinContext& join_;
  JoinParts parts_;
  SampleRows rows_;
  Pending<Event> pending_;
  LoadedKernels loaded_;
  SampledCode places_;
  WindowSampleJoin window_samples_;
  InstructionCounts counts_;
};

}  // namespace gpuprof::record
