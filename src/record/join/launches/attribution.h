// Attributes GPU work, blocking calls and samples to a WORK record, which holds launching thread, stacks, range and
// kernel name.
#pragma once

#include "record/join/context/context.h"
#include "record/join/context/pending.h"
#include "record/join/context/work_event.h"
#include "record/join/launches/launches.h"
#include "record/join/launches/stacks.h"
#include "record/process/producers.h"

namespace gpuprof::record {

class Attribution {
 public:
  Attribution(JoinContext& join, Producers& producers, Stacks& stacks, Launches& launches)
      : join_(join), producers_(producers), stacks_(stacks), launches_(launches) {}

  // Returns false if the event should wait for the launch, the name or a stack. `launch` is null if the launch is
  // unknown.
  [[nodiscard]] bool is_ready(const Source& source, const LaunchSite& site, const PendingLaunch* launch,
                              RetryPolicy policy);
  // Returns the work to which the event is attributed. Sends the work's stacks to the writer when they are first used.
  [[nodiscard]] WorkKey key_of(Source& source, const LaunchSite& site, const PendingLaunch* launch);

 private:
  NameIndex name_of(const Source& source, const LaunchSite& site, const PendingLaunch* launch);

  JoinContext& join_;
  Producers& producers_;
  Stacks& stacks_;
  Launches& launches_;
};

}  // namespace gpuprof::record
