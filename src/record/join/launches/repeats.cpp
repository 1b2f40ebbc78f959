#include "record/join/launches/repeats.h"

#include "base/hash.h"

namespace gpuprof::record {

Repeats::Site Repeats::site_of(const LaunchSite& site, const PendingLaunch& launch) {
  return {.node = site.graph_node,
          .stack = launch.stack,
          .stream = site.stream,
          .source = site.source,
          .device = site.device,
          .name_id = site.name_id,
          .tid = launch.tid,
          .thread = launch.thread,
          .range = launch.range,
          .op = site.op};
}

size_t Repeats::place_of(const Site& site) {
  return hash_of(site.node ^ (uint64_t{site.source} << 40U) ^ site.stack << 20U) % kEntries;
}

bool Repeats::may_repeat(const LaunchSite& site, const PendingLaunch* launch) {
  return site.graph_node != 0 && launch != nullptr;
}

const Repeats::Work* Repeats::find(const LaunchSite& site, const PendingLaunch* launch) const {
  if (!may_repeat(site, launch) || entries_.empty()) {
    return nullptr;
  }
  const Site wanted = site_of(site, *launch);
  const Entry& entry = entries_[place_of(wanted)];
  return entry.generation == generation_ && entry.site == wanted ? &entry.work : nullptr;
}

void Repeats::add(const LaunchSite& site, const PendingLaunch* launch, const Work& work) {
  if (!may_repeat(site, launch) || site.name_id == 0 || work.key.stack == 0 || work.key.capture == 0) {
    return;
  }
  entries_.resize(kEntries);
  const Site known = site_of(site, *launch);
  entries_[place_of(known)] = {known, work, generation_};
}

}  // namespace gpuprof::record
