// Attributes GPU work and blocking calls to their launches, and sums them up. Events whose launch or names are missing
// wait.
#pragma once

#include "backend/event_sink.h"
#include "record/join/context/context.h"
#include "record/join/context/parts.h"
#include "record/join/context/pending.h"
#include "record/join/context/work_event.h"
#include "record/join/launches/graph_bodies.h"
#include "record/join/launches/repeats.h"
#include "record/join/sums/waiting_blocks.h"
#include "record/process/producers.h"

namespace gpuprof::record {

class WorkJoin {
 public:
  WorkJoin(JoinContext& join, const JoinParts& parts)
      : join_(join), parts_(parts), bodies_(join, parts.launches), blocks_(join) {}

  void on_gpu_op(const backend::GpuOp& op);
  void on_kernel_of(const backend::GpuOp& op, uint32_t name_id);
  void on_host_op(const backend::HostOp& op) { take_or_keep(work_event(op), RetryPolicy::first_try); }
  void on_blocks(const Source& source, const backend::LaunchBlocks& blocks) { blocks_.add(source, blocks); }
  void on_graph_launch(backend::SourceId source, const backend::GraphLaunch& launch) {
    bodies_.on_launch(source, launch);
  }

  // Retries waiting events of the source `only`; 0: of all sources. `last`: missing data will not arrive.
  void retry_pending(bool last, backend::SourceId only = 0);
  // Reports launches of the source (0: of all sources) whose work has not arrived, as host work `no_work`. Nothing
  // more will arrive.
  void report_without_work(backend::SourceId source);
  // Reports the other launches of the source without GPU work, which only the target has counted, without a stack.
  void report_unknown_launches(Source& source);
  void end_source(backend::SourceId source) { bodies_.end_source(source); }
  // Call it for each event that may change to which work a graph node belongs.
  void forget_repeats() { repeats_.forget(); }

 private:
  void take_or_keep(const WorkEvent& event, RetryPolicy policy);
  bool take(WorkEvent event, RetryPolicy policy);
  [[nodiscard]] bool weigh(WorkEvent& event, const PendingLaunch* launch) const;
  [[nodiscard]] bool is_left_out(const Source& source, const WorkEvent& event, const PendingLaunch* launch);
  Repeats::Work find_work(Source& source, const LaunchSite& site, const PendingLaunch* launch, RetryPolicy policy);
  void retry_bodies(bool last, backend::SourceId only);
  void add_kernel(Source& source, const WorkEvent& event, const PendingLaunch* launch);
  void count(const Source& source, const WorkEvent& event, const WorkKey& key, const PendingLaunch* launch);

  JoinContext& join_;
  JoinParts parts_;
  GraphBodies bodies_;
  Repeats repeats_;
  Pending<WorkEvent> pending_;
  WaitingBlocks blocks_;
};

}  // namespace gpuprof::record
