#include "record/join/sums/rows.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <unordered_set>

#include "record/join/sums/bounded_sum.h"
#include "wire/wire.h"

namespace gpuprof::record {
namespace {

constexpr uint64_t kClockSlackNs = 2'000'000'000;  // work that ends later than now + 2 s has a wrong clock

// Work is swept this long after its end. CUPTI's buffers are flushed once a second.
constexpr uint64_t kSweepDelayNs = 3'000'000'000;
static_assert(kSweepDelayNs > 2 * GPUPROF_IDLE_FLUSH_NS);
constexpr size_t kMaxSweepPending = 2'000'000;  // above it, the sweep does not wait for the oldest launch

std::optional<Occupancy::Did> what_thread_did(profile::Op op) {
  switch (op) {
    case profile::Op::cpu:
      return Occupancy::Did::compute;
    case profile::Op::call:
      return Occupancy::Did::work_in_call;
    case profile::Op::sync:
      return Occupancy::Did::call;
    case profile::Op::off_cpu:
      return Occupancy::Did::off_cpu;
    default:
      return std::nullopt;
  }
}

// A sample stands for the time since the sample before, and a polled state for the time between two polls. They say
// what the thread did in all of this time, but not when. If a gap has fewer samples than this, most of them stand for
// time outside of it, so they would give it a false cause. In such a gap, only their moments count.
constexpr uint64_t kSamplesInGap = 5;

uint64_t sampled_gap_ns(uint64_t cpu_period_ns) {
  return cpu_period_ns == 0 ? 0 : kSamplesInGap * std::max<uint64_t>(cpu_period_ns, GPUPROF_LONGEST_TICK_NS);
}

// Short calls do not explain idle time, although some functions report each of their calls. A program that allocates
// memory 20,000 times a second would otherwise push the thread's long calls out of the limited list of intervals.
bool explains_idle_time(const WorkEvent& event) {
  return event.site.op != profile::Op::call || event.duration() >= GPUPROF_LONG_CALL_NS;
}

uint64_t thread_key(uint32_t pid, uint32_t tid) {
  return tid == 0 ? 0 : join_ids(pid, tid);
}

}  // namespace

Rows::Rows(JoinContext& join, const Windows& windows)
    : join_(join),
      occupancy_(windows, join.options.start_ns, join.options.grid, sampled_gap_ns(join.options.cpu_period_ns)) {}

bool Rows::admit(const WorkEvent& event) {
  Sums& sums = event.site.is_host ? host_ : gpu_;
  return add_if_it_fits(sums.bytes, event.bytes, event.weight) &&
         add_if_it_fits(sums.ns, event.duration(), event.weight) &&
         add_if_it_fits(sums.count, event.count, event.weight);
}

profile::WorkId Rows::intern(WorkKey& key) {
  return works_[key.process].intern(key, next_work_, new_works_, join_.memory());
}

void Rows::end_image(profile::ProcessId image) {
  if (const WorkSet* const ended = works_.find(image); ended != nullptr && join_.options.cpu_period_ns != 0) {
    std::unordered_set<Occupancy::Work> causes;
    ended->for_each([&causes](const WorkKey& key, profile::WorkId work) {
      if (profile::is_thread_time(key.op)) {
        causes.insert(profile::index(work));
      }
    });
    occupancy_.ended(join_.now_ns, std::move(causes));
  }
  works_.erase(image);
}

// Above the memory budget, new rows get the slice in which the batch began. Otherwise a target could create rows by
// inventing times.
RowValue& Rows::row(uint64_t ns, profile::WorkId work) {
  const RowKey key{join_.slice_of(ns), work};
  if (join_.memory().is_limited() && !rows_.contains(key)) {
    return rows_[{batch_slice_, work}];
  }
  return rows_[key];
}

void Rows::add(const WorkEvent& event, const WorkKey& key, profile::WorkId work, uint32_t pid, uint64_t call_ns) {
  const uint64_t duration = event.duration();
  RowValue& value = row(time_of(event), work);
  value.count += event.count * event.weight;
  value.sum_ns += duration * event.weight;
  value.min_ns = std::min(value.min_ns, duration);
  value.max_ns = std::max(value.max_ns, duration);
  value.bytes += event.bytes * event.weight;
  if (!event.site.is_host) {
    value.sum_squares_ns2 += profile::Uint128{duration} * duration * event.weight;
    add_queue_time(event, value);
  }
  if (!event.site.is_host || event.site.op == profile::Op::call) {
    add_duration(duration, event.weight, value);
  }
  if (!event.site.is_host && (call_ns == 0 || event.more || event.site.graph_node != 0)) {
    unbound_ns_ = std::max(unbound_ns_, event.end_ns);
  }
  if (!join_.options.duty_cycle) {  // work that was launched between windows is unknown, and may run in windows
    share_time(event, key, work, pid);
  }
  if (join_.options.latency && !event.site.is_host && join_.memory().admit()) {
    latencies_.add(work, call_ns, event);
  }
  add_event(event, work);
}

// Ignores the weight of the event: the sums of blocks have only launches in windows. Refuses blocks if a sum of the
// recording would exceed the limit of a profile.
void Rows::add_blocks(const WorkEvent& event, profile::WorkId work, const profile::BlockTotals& launch) {
  constexpr uint64_t kMost = uint64_t{1} << 62;
  profile::Blocks blocks = launch.sums;
  blocks.buckets = launch.buckets;
  if (!join_.memory().admit()) {
    return;
  }
  if (!all_blocks_.add(blocks, kMost)) {
    return join_.counters.refuse_record();
  }
  (void)blocks_[{join_.slice_of(time_of(event)), work}].add(blocks);  // fits, because the sum of the recording does
}

// Above the memory budget, a duration that needs a new bucket counts as a lost detail: otherwise a target could fill
// the memory with invented durations.
void Rows::add_duration(uint64_t ns, uint64_t weight, RowValue& value) const {
  const uint32_t bucket = profile::DurationBuckets::of(ns);
  const auto is_it = [bucket](const profile::Duration::Bucket& known) { return known.bucket == bucket; };
  const bool may_add = !join_.memory().is_limited() ||
                       std::any_of(value.durations.begin(), value.durations.end(), is_it) || join_.memory().admit();
  if (weight > 0 && may_add) {
    profile::count_of_bucket(value.durations, bucket) += weight;
  }
}

// Ignores graph nodes, because their queue times come from an earlier launch.
void Rows::add_queue_time(const WorkEvent& event, RowValue& value) {
  if (event.queued_ns != 0 && event.start_ns >= event.queued_ns && event.site.graph_node == 0 &&
      add_if_it_fits(queue_ns_, event.start_ns - event.queued_ns, event.weight)) {
    value.queue_ns += (event.start_ns - event.queued_ns) * event.weight;
  }
}

void Rows::share_time(const WorkEvent& event, const WorkKey& key, profile::WorkId work, uint32_t pid) {
  const Occupancy::Thread thread = thread_key(pid, key.tid);
  if (event.site.is_host) {
    const auto did = what_thread_did(key.op);
    if (did && explains_idle_time(event) && !join_.memory().is_full()) {
      const uint64_t start_ns = event.within_ns != 0 ? event.within_ns : event.start_ns;
      occupancy_.blocked(thread, profile::index(work), start_ns, event.end_ns, *did, event.duration());
    }
    return;
  }
  if (event.end_ns > join_.now_ns + kClockSlackNs) {
    join_.now_ns = join_.options.clock();  // now_ns is too old if the recorder was stopped
  }
  if (event.end_ns > join_.now_ns + kClockSlackNs || join_.memory().is_full()) {
    ahead_ns_ += event.duration();
  } else if (profile::index(key.device) != 0) {  // the time of unknown devices is not apportioned
    occupancy_.add(profile::index(key.device), profile::index(work), thread, event.start_ns, event.end_ns,
                   profile::index(unexplained(key)));
  }
}

void Rows::add_off_cpu(WorkKey& key, uint32_t pid, uint64_t start_ns, uint64_t end_ns, uint64_t recorded_ns) {
  if (join_.memory().is_full() || !add_if_it_fits(host_.ns, recorded_ns, 1) || !add_if_it_fits(host_.count, 1, 1)) {
    occupancy_.lose_exact(thread_key(pid, key.tid), end_ns);
    return;
  }
  const profile::WorkId work = intern(key);
  if (recorded_ns != 0) {
    RowValue& value = row(end_ns, work);
    ++value.count;
    value.sum_ns += recorded_ns;
    value.min_ns = std::min(value.min_ns, recorded_ns);
    value.max_ns = std::max(value.max_ns, recorded_ns);
  }
  occupancy_.blocked(thread_key(pid, key.tid), profile::index(work), start_ns, end_ns, Occupancy::Did::off_cpu);
}

void Rows::set_exact(const WorkKey& key, uint32_t pid, uint64_t since) {
  WorkKey on_cpu{.process = key.process, .tid = key.tid, .thread = key.thread, .op = profile::Op::cpu};
  occupancy_.set_exact(thread_key(pid, key.tid), profile::index(intern(on_cpu)), since);
}

void Rows::add_poll(uint32_t pid, uint32_t tid, const Occupancy::Poll& poll) {
  if (!join_.memory().is_full()) {
    occupancy_.polled(thread_key(pid, tid), poll);
  }
}

// Returns what gets the idle time before the work that CPU samples do not explain. Without CPU samples, the work itself
// gets it.
profile::WorkId Rows::unexplained(const WorkKey& key) {
  if (join_.options.cpu_period_ns == 0) {
    return {};
  }
  WorkKey unexplained{.process = key.process, .tid = key.tid, .thread = key.thread, .op = profile::Op::off_cpu};
  return intern(unexplained);
}

void Rows::add_event(const WorkEvent& event, profile::WorkId work) {
  if (!join_.options.timeline || profile::is_thread_time(event.site.op)) {
    return;
  }
  if (events_.size() >= kMaxTimelineLines || join_.memory().is_limited()) {
    join_.counters.timeline_full();
    return;
  }
  const bool stale = event.site.graph_node != 0;
  events_.push_back({work, event.site.correlation, event.start_ns, event.end_ns, stale ? 0 : event.queued_ns,
                     stale ? 0 : event.submitted_ns, event.bytes});
}

void Rows::end_iteration() {
  if (join_.memory().is_limited() && !finished_) {
    // Work that arrives after this call and starts earlier is not apportioned.
    occupancy_.advance(join_.now_ns);
  }
}

void Rows::sweep(uint64_t oldest_waiting) {
  if (finished_) {
    return;
  }
  const uint64_t delayed = join_.now_ns > kSweepDelayNs ? join_.now_ns - kSweepDelayNs : 0;
  const bool may_be_early = early_ns_ > kSweepDelayNs && unbound_ns_ < early_ns_ - kSweepDelayNs;
  const uint64_t latest = may_be_early ? std::max(delayed, std::min(early_ns_, join_.now_ns)) : delayed;
  const bool hurry = occupancy_.pending() > kMaxSweepPending || join_.memory().is_limited();
  swept_ns_ = std::max(swept_ns_, hurry ? latest : std::min(latest, oldest_waiting));
  occupancy_.advance(swept_ns_);
}

void Rows::finish() {
  occupancy_.finish();
  finished_ = true;
}

void Rows::take_new(Batch& batch) {
  for (const auto& [key, share] : occupancy_.take_shares()) {
    batch.shares.push_back({key.slice, profile::WorkId{key.work}, share.busy_ns, share.exclusive_ns});
  }
  for (const auto& [key, ns] : occupancy_.take_idle()) {
    batch.idle.push_back({key.slice, profile::DeviceId{key.device}, profile::WorkId{key.work}, ns});
  }
  batch.swept_ns = swept_ns_ < join_.options.start_ns ? 0 : swept_ns_;
  batch.idle_until_ns = occupancy_.idle_known_until(batch.swept_ns);
  batch_slice_ = join_.slice_of(join_.options.clock());
  batch.works = std::exchange(new_works_, {});
  batch.rows.assign(std::make_move_iterator(rows_.begin()), std::make_move_iterator(rows_.end()));
  rows_.clear();
  batch.blocks.assign(std::make_move_iterator(blocks_.begin()), std::make_move_iterator(blocks_.end()));
  blocks_.clear();
  batch.events = std::exchange(events_, {});
  for (auto& [key, histogram] : latencies_.take()) {
    batch.latencies.push_back({key.first, key.second, std::move(histogram)});
  }
}

}  // namespace gpuprof::record
