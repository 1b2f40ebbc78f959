// Samples of GPU code, joined to the launches of their kernels and added up. Those that come before their launch wait
// for it; those that name none are shared out.
#pragma once

#include "backend/event_sink.h"
#include "record/join/context.h"
#include "record/join/patience.h"
#include "record/join/samples/instruction_counts.h"
#include "record/join/samples/sample_sharing.h"
#include "record/join/sums/sample_rows.h"
#include "record/join/waiting.h"
#include "record/join/work_event.h"
#include "record/join/work_join.h"
#include "record/process/producers.h"

namespace gpuprof::record {

class SampleJoin final : public SharedSamples {
 public:
  // A sample belongs to work as a piece of GPU work does: `work` says to which.
  SampleJoin(JoinContext& join, const JoinParts& parts, WorkJoin& work)
      : join_(join),
        parts_(parts),
        work_(work),
        rows_(join),
        sharing_(join, parts, work, *this),
        counts_(join, parts, sharing_) {}

  void on_sample(const backend::Sample& sample);
  void on_dropped(backend::SourceId source, uint64_t count);

  // Those that name no launch.
  [[nodiscard]] SampleSharing& sharing() { return sharing_; }
  // What was counted, and not sampled.
  [[nodiscard]] InstructionCounts& counts() { return counts_; }
  [[nodiscard]] const InstructionCounts& counts() const { return counts_; }

  // As of WorkJoin.
  void settle(bool last, backend::SourceId only = 0);

  void end_source(backend::SourceId source);

  [[nodiscard]] size_t rows() const { return rows_.size(); }
  void take_new(Batch& batch) {
    rows_.take_new(batch);
    counts_.take_new(batch);
  }

 private:
  // A sample whose place, reason and period are numbers of the session.
  struct Event {
    LaunchSite site;
    uint64_t time_ns = 0;
    uint64_t count = 0;
    SampleKey key;  // but for slice and work
  };
  [[nodiscard]] Event event_of(const Source& source, const backend::Sample& sample);
  bool take(const Event& event, Patience patience);
  [[nodiscard]] bool is_left_out(const Event& event, const Launch* launch);
  void add(Source& source, const Event& event, const Launch* launch);

  bool admit(const Source* source, uint64_t count) override;
  void drop(const Source* source, uint64_t count) override;  // null: it is not known any more
  profile::SamplingId sampling(uint64_t period, backend::SamplingUnit unit) override;
  void add(SampleKey key, uint64_t at_ns, uint64_t count, bool has_stack) override;

  JoinContext& join_;
  JoinParts parts_;
  WorkJoin& work_;
  SampleRows rows_;
  Waiting<Event> waiting_;
  SampleSharing sharing_;
  InstructionCounts counts_;
  uint64_t seen_ = 0;  // samples, dropped ones too: a sum that must fit
};

}  // namespace gpuprof::record
