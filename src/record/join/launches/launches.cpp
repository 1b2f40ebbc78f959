#include "record/join/launches/launches.h"

#include <algorithm>

#include "record/join/context/pending.h"
#include "wire/wire.h"

namespace gpuprof::record {
namespace {

// With --timeline, a launch is kept for this time after its work, because its CALL record may arrive later and needs
// the stack.
constexpr uint64_t kKeepCallNs = 500'000'000;

// A launch is kept for this time for its samples, and an allocating call for its allocation. Vendors deliver both in
// batches, up to about a second later.
constexpr uint64_t kKeepSampledNs = 3'000'000'000;

uint64_t time_of(const PendingLaunch* launch) {
  return launch == nullptr ? 0 : launch->time_ns;
}

}  // namespace

bool Launches::is_launch(uint64_t correlation) {
  return (correlation & (GPUPROF_CORRELATION_HOST | GPUPROF_CORRELATION_NODE)) == 0;
}

const Launches::Table& Launches::table_of(uint64_t correlation) const {
  return (correlation & GPUPROF_CORRELATION_HOST) != 0 ? host_calls_ : launches_;
}

Launches::Table& Launches::table_of(uint64_t correlation) {
  return (correlation & GPUPROF_CORRELATION_HOST) != 0 ? host_calls_ : launches_;
}

void Launches::add(backend::SourceId source, uint64_t correlation, const PendingLaunch& call) {
  if ((correlation & (GPUPROF_CORRELATION_HOST | GPUPROF_CORRELATION_NODE)) == GPUPROF_CORRELATION_NODE) {
    nodes_.captured(source, correlation & ~GPUPROF_CORRELATION_NODE, call.stack);
    return;
  }
  if ((!join_.attached.empty() || windows_.begin() > join_.options.start_ns || windows_.count() > 1) &&
      is_launch(correlation)) {
    note_first(source, correlation, call.time_ns);
  }
  Table& table = table_of(correlation);
  table.used = true;
  table.calls.insert(source, correlation, call);
}

void Launches::note_first(backend::SourceId source, uint64_t correlation, uint64_t time_ns) {
  std::vector<First>& firsts = first_[source];
  const profile::Window* window = windows_.at(time_ns);
  const uint64_t window_ns = window == nullptr ? 0 : window->start_ns;
  if (firsts.empty() || firsts.back().window_ns < window_ns) {
    firsts.push_back({window_ns, correlation});
  } else if (firsts.back().window_ns == window_ns) {
    firsts.back().correlation = std::min(firsts.back().correlation, correlation);
  }
}

void Launches::on_graph_node(backend::SourceId source, const backend::GraphNode& node) {
  nodes_.add(source, node, join_.now_ns);
  if (node.launch == 0) {
    return;
  }
  // The launch was captured into a graph and runs nothing itself. Remove it, so that Occupancy does not wait for its
  // work.
  if (launches_.calls.find(source, node.launch) != nullptr) {
    launches_.calls.erase(source, node.launch);
  } else if (captured_.size() < LaunchTable::kMaxEntries && launches_.used) {
    captured_.push_back({source, node.launch, 0});
  }
}

PendingLaunch* Launches::find(const LaunchSite& site) {
  return site.has_call ? find(site.source, site.correlation) : nullptr;
}

PendingLaunch* Launches::find(backend::SourceId source, uint64_t correlation) {
  return table_of(correlation).calls.find(source, correlation);
}

bool Launches::is_before_attach(const Source& source, const LaunchSite& site) const {
  if (!join_.attached.contains(source.pid) || !site.has_call || !is_launch(site.correlation)) {
    return false;
  }
  const auto found = first_.find(site.source);
  return found == first_.end() || site.correlation < found->second.front().correlation;
}

bool Launches::is_before_window(const LaunchSite& site, uint64_t start_ns) const {
  const auto found = first_.find(site.source);
  const profile::Window* window = windows_.at(start_ns);
  if (found == first_.end() || window == nullptr || !site.has_call || !is_launch(site.correlation)) {
    return false;
  }
  const auto& firsts = found->second;
  const auto first = std::find_if(firsts.rbegin(), firsts.rend(),
                                  [window](const First& one) { return one.window_ns <= window->start_ns; });
  return first != firsts.rend() && first->window_ns == window->start_ns && site.correlation < first->correlation;
}

bool Launches::may_come(const Source& source, const LaunchSite& site) const {
  const bool of_sampled_work = source.traits.takes_samples && !site.is_host;
  return site.has_call && (of_sampled_work || table_of(site.correlation).used);
}

bool Launches::knows_node(const LaunchSite& site) const {
  return site.graph_node == 0 || nodes_.knows(site.source, site.graph_node);
}

uint64_t Launches::capture_stack(const LaunchSite& site, const PendingLaunch* launch) const {
  return site.graph_node == 0 ? 0 : nodes_.stack(site.source, site.graph_node, time_of(launch));
}

// Returns the id of the work's name. For unnamed work of a graph node, returns the name that was reported when the node
// was created.
uint32_t Launches::name_id(const LaunchSite& site, const PendingLaunch* launch) const {
  const bool of_node = site.name_id == 0 && site.graph_node != 0 && site.op == profile::Op::kernel;
  return of_node ? nodes_.name(site.source, site.graph_node, time_of(launch)) : site.name_id;
}

void Launches::named(const LaunchSite& site, const PendingLaunch* launch) {
  if (site.graph_node != 0 && site.name_id != 0) {
    nodes_.named(site.source, site.graph_node, site.name_id, time_of(launch));
  }
}

// Counts a launch that had work. An orphan's own event was lost. A launch without a weight was made between windows.
void Launches::count_launch(const Source& source, const WorkEvent& event, bool is_orphan) {
  SourceCoverage& coverage = join_.counters.coverage(event.site.source);
  if (event.weight == 0) {
    coverage.count(profile::CoverageCount::between_windows);
  } else if (is_orphan) {
    coverage.orphan_matched();
  } else {
    coverage.count(profile::CoverageCount::matched);
  }
  if (join_.options.duty_cycle && event.weight != 0) {
    coverage.count(profile::CoverageCount::weighted, event.weight);
    join_.counters.weighted(join_.slice_of(event.slice_ns), source.process(), event.weight);
  }
}

// Counts the launch of the event once. If more work may arrive, keeps the launch's entry or creates one.
void Launches::match(const Source& source, const WorkEvent& event, PendingLaunch* launch) {
  const LaunchSite& site = event.site;
  if (!site.has_call) {
    return;
  }
  LaunchTable& table = table_of(site.correlation).calls;
  if (site.is_host) {
    if (launch != nullptr) {
      const uint64_t keep = keep_ns(site);
      table.match(site.source, site.correlation, *launch, keep == 0 ? 0 : join_.now_ns + keep);
    }
    return;
  }
  if (launch == nullptr) {
    if (!is_before_attach(source, site)) {
      count_launch(source, event, true);
    }
    if (event.more) {
      table.insert(site.source, site.correlation,
                   {.orphan = true, .matched = true, .keep_until_ns = join_.now_ns + kKeepGraphNs});
    }
    return;
  }
  if (!launch->matched) {
    count_launch(source, event, false);
  }
  const uint64_t keep = keep_ns(source, event);
  table.match(site.source, site.correlation, *launch, keep == 0 ? 0 : join_.now_ns + keep);
}

// Returns how long to keep a call after one of its events. A call that failed may also report that it waited for the
// GPU or how long it took; with --timeline, a launch its CALL.
uint64_t Launches::keep_ns(const LaunchSite& site) const {
  if (site.op == profile::Op::call) {
    return kKeepSampledNs;
  }
  const bool more = site.op == profile::Op::failed && (join_.options.timeline || !is_launch(site.correlation));
  return more ? kKeepCallNs : 0;
}

// Returns how long to keep the launch after this work. If the table is over half full, launches are not kept for
// samples.
uint64_t Launches::keep_ns(const Source& source, const WorkEvent& event) const {
  if (event.more) {
    return kKeepGraphNs;
  }
  if (source.traits.takes_samples && launches_.calls.has_headroom()) {
    return kKeepSampledNs;
  }
  return join_.options.timeline ? kKeepCallNs : 0;
}

void Launches::match(backend::SourceId source, const backend::GraphLaunch& launch) {
  const uint64_t keep_until_ns = join_.now_ns + kKeepGraphNs;
  PendingLaunch* known = launches_.calls.find(source, launch.correlation);
  if (known != nullptr && !known->matched) {
    join_.counters.coverage(source).count(profile::CoverageCount::matched);
    launches_.calls.match(source, launch.correlation, *known, keep_until_ns);
  }
}

void Launches::retry_pending(bool last) {
  std::erase_if(captured_, [&](Captured& launch) {
    const bool there = launches_.calls.find(launch.source, launch.correlation) != nullptr;
    launches_.calls.erase(launch.source, launch.correlation);
    return there || last || ++launch.retries >= kMaxRetries;
  });
  nodes_.retry_pending(join_.now_ns);
}

void Launches::expire() {
  launches_.calls.expire(join_.now_ns);
  host_calls_.calls.expire(join_.now_ns);
}

std::vector<LaunchTable::Waiting> Launches::waiting(backend::SourceId source) const {
  return launches_.calls.waiting(source);
}

void Launches::end_source(backend::SourceId source) {
  launches_.calls.end_source(source);
  host_calls_.calls.end_source(source);
  nodes_.end_source(source);
  first_.erase(source);
}

}  // namespace gpuprof::record
