// Which work an event belongs to: who launched it, from where, and what it is called. The same for GPU work, blocking
// calls and samples.
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

  // Whether everything that the site refers to is known, or need not be waited for. `launch`: of the site; null: it is
  // not known.
  [[nodiscard]] bool is_ready(const Source& source, const LaunchSite& site, const PendingLaunch* launch,
                              RetryPolicy policy);
  // The work that the event is charged to.
  [[nodiscard]] WorkKey key_of(Source& source, const LaunchSite& site, const PendingLaunch* launch);

 private:
  NameIndex name_of(const Source& source, const LaunchSite& site, const PendingLaunch* launch);

  JoinContext& join_;
  Producers& producers_;
  Stacks& stacks_;
  Launches& launches_;
};

}  // namespace gpuprof::record
