#include "record/join/work_join.h"

#include "wire/wire.h"

namespace gpuprof::record {

void WorkJoin::on_gpu_op(const backend::GpuOp& op) {
  if (op.exec == 0) {
    bodies_.ran(op);
    take_or_wait(work_event(op), Patience::fresh);
  } else if (!bodies_.hold(op)) {
    settle_bodies(false, 0);
  }
}

void WorkJoin::on_kernel_of(const backend::GpuOp& op, uint32_t name_id) {
  WorkEvent event = work_event(op);
  event.kernel_id = name_id;
  take_or_wait(event, Patience::fresh);
}

void WorkJoin::take_or_wait(const WorkEvent& event, Patience patience) {
  waiting_.take_or_wait(event, patience, [this](const auto& waiting, Patience left) { return take(waiting, left); });
}

void WorkJoin::settle_bodies(bool last, backend::SourceId only) {
  bodies_.settle(last, only, [&](const backend::GpuOp& op) {
    take_or_wait(work_event(op), last ? Patience::none : Patience::settled);
  });
}

void WorkJoin::settle(bool last, backend::SourceId only) {
  settle_bodies(last, only);
  waiting_.settle(last, only, [this](const auto& waiting, Patience left) { return take(waiting, left); });
}

bool WorkJoin::is_ready(const Source& source, const LaunchSite& site, const Launch* launch, Patience patience) {
  if (patience == Patience::none) {
    return true;
  }
  const Launches& launches = parts_.launches;
  if ((launch == nullptr && launches.may_come(source, site)) || !source.knows_name(launches.name_id(site, launch))) {
    return false;
  }
  if ((launch != nullptr && !parts_.stacks.knows(*source.image, launch->stack)) ||
      !parts_.stacks.knows(*source.image, launches.capture_stack(site, launch))) {
    return false;
  }
  const uint32_t range = launch != nullptr && !site.unsampled ? launch->range : site.range;
  const bool knows_device = site.device == LaunchSite::kNoDevice || source.devices.contains(site.device);
  return patience == Patience::settled || (knows_device && launches.knows_node(site) && source.knows_range(range));
}

NameIndex WorkJoin::name_of(const Source& source, const LaunchSite& site, const Launch* launch) {
  const uint32_t id = parts_.launches.name_id(site, launch);
  if (id == 0 && site.op != profile::Op::kernel) {
    return 0;
  }
  if (id == 0) {
    join_.tally.add_loss(source.process(), profile::LossReason::kernel_name, site.is_sample ? 0 : 1);
    return parts_.producers.names().intern(GPUPROF_UNKNOWN_KERNEL);
  }
  if (site.is_host) {
    return source.name(id);
  }
  if (!source.knows_name(id)) {
    if (!site.is_sample) {
      join_.tally.late_name();
    }
    return parts_.producers.names().intern("[unnamed kernel]");
  }
  parts_.launches.named(site, launch);
  return source.name(id);
}

WorkKey WorkJoin::key_of(Source& source, const LaunchSite& site, const Launch* launch) {
  WorkKey key;
  key.process = source.process();
  key.device = source.device(site.device);
  key.stream = site.stream;
  key.op = site.op;
  key.name = name_of(source, site, launch);
  if (launch != nullptr && !site.unsampled) {
    key.tid = launch->tid;
    key.thread = launch->thread;
    key.range = parts_.producers.range(source, launch->range);
    key.stack = parts_.stacks.use(*source.image, launch->stack);
  } else if (site.tid != 0 || site.range != 0) {
    key.tid = site.tid;
    key.thread = parts_.producers.thread_name(source.pid, site.tid);
    key.range = parts_.producers.range(source, site.range);
  }
  key.flags = site.unsampled ? profile::kWorkUnsampled : 0;
  if (site.graph_node != 0) {
    const bool attached = parts_.producers.is_attached_to(source.pid);
    key.flags |= profile::kWorkGraphNode | (attached ? profile::kWorkAttached : 0);
    key.capture = parts_.stacks.use(*source.image, parts_.launches.capture_stack(site, launch));
  }
  return key;
}

// Work that is not to be in the profile, or that a sum would not hold.
bool WorkJoin::is_left_out(const WorkEvent& event, const Launch* launch) {
  if (event.outside) {
    join_.tally.coverage(event.site.source).outside();
    return true;
  }
  // While recording is off a vendor's library goes on for a while; launches are not told of.
  const bool may_be_off = launch == nullptr && !event.site.unsampled && !event.site.is_host;
  if (may_be_off && !parts_.windows.contains(event.start_ns)) {
    ++join_.tally.totals().off_records;
    return true;
  }
  const bool fits = parts_.rows.admit(event);
  if (!fits) {
    join_.tally.refuse_record();
  }
  return !fits;
}

// Accounts for the event. False: it has to wait.
bool WorkJoin::take(const WorkEvent& event, Patience patience) {
  Source* source = parts_.producers.find(event.site.source);
  if (source == nullptr) {
    return true;
  }
  Launch* launch = parts_.launches.find(event.site);
  if (!is_ready(*source, event.site, launch, patience)) {
    return false;
  }
  if (event.kernel_id != 0) {
    add_kernel(*source, event, launch);
    return true;
  }
  if (is_left_out(event, launch)) {
    return true;
  }
  WorkKey key = key_of(*source, event.site, launch);
  const profile::WorkId work = parts_.rows.intern(key);
  count(event, key, launch);
  parts_.rows.add(event, key, work, source->pid, launch == nullptr ? 0 : launch->time_ns);
  if (join_.options.sampling.samples && event.site.op == profile::Op::kernel && !event.site.is_host) {
    parts_.kernel_times.add({event.site.source, event.site.device, key.name}, work, key.stack != 0, event.start_ns,
                            event.end_ns, event.site.correlation);
  }
  parts_.launches.match(*source, event, launch);
  return true;
}

// When a kernel of the work can have run. The work itself is counted by its own event.
void WorkJoin::add_kernel(Source& source, const WorkEvent& event, const Launch* launch) {
  if (!join_.options.sampling.samples || launch == nullptr || event.outside) {
    return;
  }
  WorkKey key = key_of(source, event.site, launch);
  const profile::WorkId work = parts_.rows.intern(key);
  parts_.kernel_times.add({event.site.source, event.site.device, source.name(event.kernel_id)}, work, key.stack != 0,
                          event.start_ns, event.end_ns);
}

void WorkJoin::count(const WorkEvent& event, const WorkKey& key, const Launch* launch) {
  if (event.site.is_host) {
    return;
  }
  Totals& totals = join_.tally.totals();
  SourceCoverage& coverage = join_.tally.coverage(event.site.source);
  ++totals.gpu_records;
  totals.gpu_ns += event.duration();
  if (event.site.unsampled) {
    ++totals.unsampled_records;
  } else if (key.stack != 0) {
    ++totals.with_stack;
  } else if (join_.options.stacks_wanted) {
    coverage.without_stack();
  }
  if (!event.site.unsampled && (launch == nullptr || launch->orphan)) {
    coverage.without_launch();
  }
}

}  // namespace gpuprof::record
