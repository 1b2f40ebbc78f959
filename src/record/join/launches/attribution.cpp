#include "record/join/launches/attribution.h"

#include "wire/wire.h"

namespace gpuprof::record {

bool Attribution::is_ready(const Source& source, const LaunchSite& site, const PendingLaunch* launch,
                           RetryPolicy policy) {
  if (policy == RetryPolicy::last_try) {
    return true;
  }
  if ((launch == nullptr && launches_.may_come(source, site)) || !source.knows_name(launches_.name_id(site, launch))) {
    return false;
  }
  if ((launch != nullptr && !stacks_.knows(*source.image, launch->stack)) ||
      !stacks_.knows(*source.image, launches_.capture_stack(site, launch))) {
    return false;
  }
  const uint32_t range = launch != nullptr ? launch->range : site.range;
  const bool knows_device = site.device == LaunchSite::kNoDevice || source.devices.contains(site.device);
  return policy == RetryPolicy::retry || (knows_device && launches_.knows_node(site) && source.knows_range(range));
}

NameIndex Attribution::name_of(const Source& source, const LaunchSite& site, const PendingLaunch* launch) {
  const uint32_t id = launches_.name_id(site, launch);
  if (id == 0 && site.op != profile::Op::kernel) {
    return 0;
  }
  if (id == 0) {
    join_.counters.add_loss(source.process(), profile::LossReason::kernel_name, site.is_sample ? 0 : 1);
    return producers_.names().intern(GPUPROF_UNKNOWN_KERNEL);
  }
  if (site.is_host) {
    return source.name(id);
  }
  if (!source.knows_name(id)) {
    if (!site.is_sample) {
      join_.counters.late_name();
    }
    return producers_.names().intern("[unnamed kernel]");
  }
  launches_.named(site, launch);
  return source.name(id);
}

WorkKey Attribution::key_of(Source& source, const LaunchSite& site, const PendingLaunch* launch) {
  WorkKey key;
  key.process = source.process();
  key.device = source.device(site.device);
  key.stream = site.stream;
  key.op = site.op;
  key.name = name_of(source, site, launch);
  if (launch != nullptr) {
    key.tid = launch->tid;
    key.thread = launch->thread;
    key.range = producers_.range(source, launch->range);
    key.stack = stacks_.use(*source.image, launch->stack);
  } else if (site.tid != 0 || site.range != 0) {
    key.tid = site.tid;
    key.thread = producers_.thread_name(source.pid, site.tid);
    key.range = producers_.range(source, site.range);
  }
  if (site.graph_node != 0) {
    const bool attached = join_.attached.contains(source.pid);
    key.flags = profile::kWorkGraphNode | (attached ? profile::kWorkAttached : 0);
    key.capture = stacks_.use(*source.image, launches_.capture_stack(site, launch));
  }
  return key;
}

}  // namespace gpuprof::record
