// GPU work and blocking calls, joined to their launches and added up. What has not got all that it refers to waits.
#pragma once

#include "backend/event_sink.h"
#include "record/join/context.h"
#include "record/join/graph_bodies.h"
#include "record/join/launches.h"
#include "record/join/patience.h"
#include "record/join/samples/kernel_times.h"
#include "record/join/stacks.h"
#include "record/join/sums/rows.h"
#include "record/join/waiting.h"
#include "record/join/work_event.h"
#include "record/process/producers.h"

namespace gpuprof::record {

// The other parts of the join that it puts together.
struct JoinParts {
  Producers& producers;
  Stacks& stacks;
  Launches& launches;
  Rows& rows;
  const Windows& windows;
  KernelTimes& kernel_times;
};

class WorkJoin {
 public:
  WorkJoin(JoinContext& join, const JoinParts& parts) : join_(join), parts_(parts), bodies_(join, parts.launches) {}

  void on_gpu_op(const backend::GpuOp& op);
  void on_kernel_of(const backend::GpuOp& op, uint32_t name_id);
  void on_host_op(const backend::HostOp& op) { take_or_wait(work_event(op), Patience::fresh); }
  void on_graph_launch(backend::SourceId source, const backend::GraphLaunch& launch) {
    bodies_.on_launch(source, launch);
  }

  // Tries again what waits for a launch or a name. `last`: accept that it will not come. `only`: of this source (0: of
  // all).
  void settle(bool last, backend::SourceId only = 0);
  void end_source(backend::SourceId source) { bodies_.end_source(source); }

  // Whether everything that the site refers to is known, or need not be waited for.
  [[nodiscard]] bool is_ready(const Source& source, const LaunchSite& site, const Launch* launch, Patience patience);
  // What it is charged to. `launch`: null, where it is not known. Both are for samples, too.
  [[nodiscard]] WorkKey key_of(Source& source, const LaunchSite& site, const Launch* launch);

 private:
  void take_or_wait(const WorkEvent& event, Patience patience);
  bool take(const WorkEvent& event, Patience patience);
  [[nodiscard]] bool is_left_out(const WorkEvent& event, const Launch* launch);
  void settle_bodies(bool last, backend::SourceId only);
  NameIndex name_of(const Source& source, const LaunchSite& site, const Launch* launch);
  void add_kernel(Source& source, const WorkEvent& event, const Launch* launch);
  void count(const WorkEvent& event, const WorkKey& key, const Launch* launch);

  JoinContext& join_;
  JoinParts parts_;
  GraphBodies bodies_;
  Waiting<WorkEvent> waiting_;
};

}  // namespace gpuprof::record
