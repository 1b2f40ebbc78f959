#include "record/join/work_join.h"

#include "record/join/launches/attribution.h"
#include "record/join/sums/kernel_times.h"
#include "record/join/sums/rows.h"

namespace gpuprof::record {

void WorkJoin::on_gpu_op(const backend::GpuOp& op) {
  if (op.exec == 0) {
    bodies_.ran(op);
    take_or_keep(work_event(op), RetryPolicy::first_try);
  } else if (!bodies_.hold(op)) {
    retry_bodies(false, 0);
  }
}

void WorkJoin::on_kernel_of(const backend::GpuOp& op, uint32_t name_id) {
  WorkEvent event = work_event(op);
  event.kernel_id = name_id;
  take_or_keep(event, RetryPolicy::first_try);
}

void WorkJoin::take_or_keep(const WorkEvent& event, RetryPolicy policy) {
  pending_.take_or_keep(event, policy, [this](const auto& pending, RetryPolicy left) { return take(pending, left); });
}

void WorkJoin::retry_bodies(bool last, backend::SourceId only) {
  bodies_.retry_pending(last, only, [&](const backend::GpuOp& op) {
    take_or_keep(work_event(op), last ? RetryPolicy::last_try : RetryPolicy::retry);
  });
}

void WorkJoin::retry_pending(bool last, backend::SourceId only) {
  retry_bodies(last, only);
  pending_.retry_pending(last, only, [this](const auto& pending, RetryPolicy left) { return take(pending, left); });
  if (last) {
    blocks_.end_source(only);
  }
  blocks_.expire();
}

void WorkJoin::report_without_work(backend::SourceId source) {
  for (const auto& [owner, correlation, time_ns] : parts_.launches.waiting(source)) {
    take({.site = {.source = owner,
                   .correlation = correlation,
                   .op = profile::Op::no_work,
                   .has_call = true,
                   .is_host = true},
          .start_ns = time_ns,
          .end_ns = time_ns},
         RetryPolicy::last_try);
  }
}

void WorkJoin::report_unknown_launches(Source& source) {
  const JoinCounters::Unknown unknown = join_.counters.unknown_without_work(source.id);
  const WorkEvent event{.site = {.source = source.id, .op = profile::Op::no_work, .is_host = true},
                        .start_ns = join_.now_ns,
                        .end_ns = join_.now_ns,
                        .count = unknown.launches,
                        .weight = unknown.weight};
  if (unknown.launches > 0 && parts_.rows.admit(event)) {
    WorkKey key = parts_.attribution.key_of(source, event.site, nullptr);
    parts_.rows.add(event, key, parts_.rows.intern(key), source.pid, 0);
  }
}

// Gives the event the weight of the window in which it was launched, or in which the call began and ended. Returns
// false without such a window. The work of a window is in one slice, so that a reader can compare windows.
bool WorkJoin::weigh(WorkEvent& event, const PendingLaunch* launch) const {
  if (!join_.options.duty_cycle) {
    return true;
  }
  const bool is_call = event.site.op == profile::Op::call;
  const profile::Window* window = parts_.windows.at(is_call || launch == nullptr ? event.start_ns : launch->time_ns);
  if (is_call && parts_.windows.at(event.end_ns) != window) {
    window = nullptr;  // most of the call's time may be outside of the window
  }
  event.weight = window == nullptr ? 0 : window->weight;
  event.slice_ns = window == nullptr ? 0 : window->start_ns;
  return window != nullptr;
}

// Returns whether the event must be left out: it is outside of the recording, or a sum would overflow.
bool WorkJoin::is_left_out(const Source& source, const WorkEvent& event, const PendingLaunch* launch) {
  if (event.outside) {
    join_.counters.coverage(event.site.source).count(profile::CoverageCount::outside_range);
    return true;
  }
  // When recording is switched off, targets stop reporting launches at once, but vendor libraries still report work for
  // a while. Work of a launch before a window may run in the window.
  const bool may_be_off = launch == nullptr && !event.site.is_host;
  const auto is_before = [&] {
    return parts_.launches.is_before_window(event.site, event.start_ns) &&
           !parts_.launches.is_before_attach(source, event.site);
  };
  if (may_be_off && (!parts_.windows.contains(event.start_ns) || is_before())) {
    ++join_.counters.totals().off_records;
    return true;
  }
  const bool fits = parts_.rows.admit(event);
  if (!fits) {
    join_.counters.refuse_record();
  }
  return !fits;
}

// Attributes the event and adds it to the sums, or leaves it out. Returns false if the event must wait.
bool WorkJoin::take(WorkEvent event, RetryPolicy policy) {
  Source* source = parts_.producers.find(event.site.source);
  if (source == nullptr) {
    return true;
  }
  PendingLaunch* launch = parts_.launches.find(event.site);
  const Repeats::Work* const repeated = repeats_.find(event.site, launch);
  if (repeated == nullptr && !parts_.attribution.is_ready(*source, event.site, launch, policy)) {
    return false;
  }
  if (event.kernel_id != 0) {
    add_kernel(*source, event, launch);
    return true;
  }
  // Nodes of a graph have one correlation id, so it does not say to which of them the blocks belong.
  const bool may_have_blocks =
      event.site.op == profile::Op::kernel && !event.site.is_host && !event.more && event.site.graph_node == 0;
  const auto blocks = may_have_blocks ? blocks_.take(event.site.source, event.site.correlation) : std::nullopt;
  if (!weigh(event, launch)) {
    join_.counters.totals().off_records += event.site.is_host ? 0 : 1;
    if (event.site.op == profile::Op::failed && Launches::is_launch(event.site.correlation)) {
      join_.counters.coverage(event.site.source).failed_between_windows();
    }
    parts_.launches.match(*source, event, launch);
    return true;
  }
  if (is_left_out(*source, event, launch)) {
    return true;
  }
  const auto [key, work] = repeated != nullptr ? *repeated : find_work(*source, event.site, launch, policy);
  count(*source, event, key, launch);
  if (event.site.op == profile::Op::no_work) {
    join_.counters.coverage(event.site.source).has_no_work_row();
  }
  parts_.rows.add(event, key, work, source->pid, launch == nullptr ? 0 : launch->time_ns);
  if (blocks) {
    parts_.rows.add_blocks(event, work, *blocks);
  }
  if (join_.options.sampling.samples && event.site.op == profile::Op::kernel && !event.site.is_host) {
    parts_.kernel_times.add({event.site.source, event.site.device, key.name}, work, key.stack != 0, event.start_ns,
                            event.end_ns, event.site.correlation);
  }
  parts_.launches.match(*source, event, launch);
  return true;
}

Repeats::Work WorkJoin::find_work(Source& source, const LaunchSite& site, const PendingLaunch* launch,
                                  RetryPolicy policy) {
  Repeats::Work found{.key = parts_.attribution.key_of(source, site, launch)};
  found.id = parts_.rows.intern(found.key);
  if (policy == RetryPolicy::first_try && parts_.launches.is_steady(site)) {
    repeats_.add(site, launch, found);
  }
  return found;
}

// Stores that one kernel of a work item may have run during the item. The item's own event counts the work.
void WorkJoin::add_kernel(Source& source, const WorkEvent& event, const PendingLaunch* launch) {
  if (!join_.options.sampling.samples || launch == nullptr || event.outside) {
    return;
  }
  WorkKey key = parts_.attribution.key_of(source, event.site, launch);
  const profile::WorkId work = parts_.rows.intern(key);
  parts_.kernel_times.add({event.site.source, event.site.device, source.name(event.kernel_id)}, work, key.stack != 0,
                          event.start_ns, event.end_ns);
}

void WorkJoin::count(const Source& source, const WorkEvent& event, const WorkKey& key, const PendingLaunch* launch) {
  if (event.site.is_host) {
    return;
  }
  Totals& totals = join_.counters.totals();
  SourceCoverage& coverage = join_.counters.coverage(event.site.source);
  totals.gpu_records += event.weight;
  totals.gpu_ns += event.duration() * event.weight;
  if (join_.options.duty_cycle) {
    Estimated& process = totals.estimated[source.process()];
    process.gpu_records += event.weight;
    process.gpu_ns += event.duration() * event.weight;
    process.with_stack += key.stack != 0 ? event.weight : 0;
  }
  const bool is_unknown = launch == nullptr || launch->orphan;
  if (is_unknown && parts_.launches.is_before_attach(source, event.site)) {
    coverage.count(profile::CoverageCount::before_attach, event.weight);
    return;
  }
  if (key.stack != 0) {
    totals.with_stack += event.weight;
  } else if (join_.options.stacks_wanted) {
    coverage.count(profile::CoverageCount::without_stack, event.weight);
  }
  if (is_unknown) {
    coverage.count(profile::CoverageCount::without_launch, event.weight);
  }
}

}  // namespace gpuprof::record
