#include "record/join/sums/occupancy.h"

#include <algorithm>

#include "base/hash.h"

namespace gpuprof::record {
namespace {

// Limit on stored intervals per thread and kind. Idle time before the oldest stored interval has no explanation.
constexpr size_t kMaxBlocked = 65536;
constexpr size_t kMaxLanes = 16384;
constexpr size_t kMaxBlockedInAll = 500'000;

constexpr auto kStartsEarlier = [](const auto& a, const auto& b) { return a.start < b.start; };

// No device runs this many work items at once, but a target may report them, and each item slows down the sweep.
constexpr size_t kMaxRunningWork = 1024;

// Limits memory. If the watermark does not advance and more work is pending, the older half of the work is swept.
constexpr size_t kMaxPendingWork = 1'000'000;

// Sorting is faster than merging runs that are shorter than this.
constexpr size_t kShortRun = 64;

// Limits the memory and time for one piece of work, or one gap. It is 11 days of slices of 1 s.
constexpr uint64_t kMostSlices = 1'000'000;

// A thread whose last poll before a gap is older than this many times the length of a short gap was not polled then.
constexpr uint64_t kLongestPoll = 4;

// What explains the time of a gap, the first kinds first. Samples and polls explain the rest of short gaps, and samples
// the rest outside of exact intervals.
constexpr std::array kInLongGap = {Occupancy::Did::work_in_call, Occupancy::Did::compute, Occupancy::Did::call,
                                   Occupancy::Did::off_cpu};
constexpr std::array kInShortGap = {Occupancy::Did::work_in_call, Occupancy::Did::call};
constexpr std::array kExact = {Occupancy::Did::work_in_call, Occupancy::Did::call, Occupancy::Did::off_cpu};
constexpr std::array kBeforeExact = {Occupancy::Did::compute};

// How long idle time of short gaps waits for more polls.
constexpr uint64_t kLongestHoldNs = 5'000'000'000;

}  // namespace

size_t Occupancy::SliceWorkHash::operator()(const SliceWork& key) const {
  return hash_of(key.slice ^ join_ids(key.work, key.device));
}

void Occupancy::add(Device device, Work work, Thread thread, uint64_t start, uint64_t end, Work otherwise) {
  if (!devices_.contains(device)) {
    devices_[device].swept_to = start_ns_;
  }
  DeviceState& state = devices_[device];
  if (start < state.swept_to) {
    late_ns_ += windows_.recorded(start, std::min(end, state.swept_to));
    start = state.swept_to;
    end = std::max(start, end);
  }
  if (!state.pending.empty() && start < state.pending.back().start) {
    state.runs.push_back(state.pending.size());
  }
  state.pending.push_back({start, end, thread, work, otherwise == 0 ? work : otherwise});
  if (state.pending.size() > kMaxPendingWork) {
    sort(state);
    sweep(device, state, state.pending[kMaxPendingWork / 2].start);
  }
}

void Occupancy::blocked(Thread thread, Work work, uint64_t start, uint64_t end, Did did, uint64_t limit) {
  if (thread == 0) {
    return;
  }
  if (blocked_calls_ >= kMaxBlockedInAll || blocked_.size() >= kMaxLanes) {
    drop_blocked();
  }
  Lane& lane = blocked_[thread];
  lane.is_sampled = lane.is_sampled || did == Did::compute;
  Blocked& blocked = lane.intervals.at(static_cast<size_t>(did));
  auto place = blocked.calls.end();
  while (place != blocked.calls.begin() && std::prev(place)->end > end) {
    --place;  // an event that waited for its stack comes after later ones
  }
  blocked.next = place == blocked.calls.end() ? blocked.next : 0;
  blocked.calls.insert(place, Call{{start, end, thread, work, 0}, limit});
  ++blocked_calls_;
  if (blocked.calls.size() > kMaxBlocked) {
    if (did == Did::off_cpu) {
      lane.lose_exact(blocked.calls.front().end);
    }
    blocked.calls.pop_front();
    blocked.next -= blocked.next == 0 ? 0 : 1;
    --blocked_calls_;
  }
}

void Occupancy::polled(Thread thread, const Poll& poll) {
  if (thread == 0) {
    return;
  }
  if (blocked_calls_ >= kMaxBlockedInAll || blocked_.size() >= kMaxLanes) {
    drop_blocked();
  }
  blocked_[thread].feeds = true;
  std::deque<Poll>& polls = blocked_[thread].polls;
  polls.push_back(poll);
  ++blocked_calls_;
  if (polls.size() > kMaxBlocked) {
    polls.pop_front();
    --blocked_calls_;
  }
}

void Occupancy::set_exact(Thread thread, Work on_cpu, uint64_t since) {
  if (thread == 0) {
    return;
  }
  Lane& lane = blocked_[thread];
  lane.on_cpu = on_cpu;
  lane.exact_since = lane.exact_since == 0 ? since : lane.exact_since;
}

void Occupancy::Lane::lose_exact(uint64_t until) {
  exact_since = exact_since == 0 ? 0 : std::max(exact_since, until);
}

void Occupancy::lose_exact(uint64_t until) {
  for (auto& [thread, lane] : blocked_) {
    lane.lose_exact(until);
  }
}

void Occupancy::lose_exact(Thread thread, uint64_t until) {
  if (const auto lane = blocked_.find(thread); lane != blocked_.end()) {
    lane->second.lose_exact(until);
  }
}

// Drops calls that ended before the swept_to of every device, because no later gap can be charged to them. If more than
// half of a limit is still used after that, drops what threads computed that have not launched anything. If that is too
// little, drops the older half of each thread's calls.
void Occupancy::drop_blocked() {
  uint64_t oldest = devices_.empty() ? 0 : UINT64_MAX;
  for (const auto& [device, state] : devices_) {
    oldest = std::min(oldest, state.swept_to);
  }
  const auto drop = [this](auto keep_from) {
    blocked_calls_ = 0;
    for (auto& [thread, lane] : blocked_) {
      std::deque<Call>& off_cpu = lane.intervals.at(static_cast<size_t>(Did::off_cpu)).calls;
      if (const auto kept = keep_from(off_cpu); kept != off_cpu.begin()) {
        lane.lose_exact(std::prev(kept)->end);
      }
      for (Blocked& blocked : lane.intervals) {
        blocked.calls.erase(blocked.calls.begin(), keep_from(blocked.calls));
        blocked.next = 0;
        blocked_calls_ += blocked.calls.size();
      }
      lane.polls.erase(lane.polls.begin(), keep_from(lane.polls));
      blocked_calls_ += lane.polls.size();
    }
    std::erase_if(blocked_, [](const auto& entry) {
      const Lane& lane = entry.second;
      return lane.polls.empty() && std::all_of(lane.intervals.begin(), lane.intervals.end(),
                                               [](const Blocked& one) { return one.calls.empty(); });
    });
  };
  drop([oldest](auto& entries) {
    return std::find_if(entries.begin(), entries.end(), [oldest](const auto& one) { return end_of(one) > oldest; });
  });
  const auto is_full = [this] { return blocked_calls_ > kMaxBlockedInAll / 2 || blocked_.size() > kMaxLanes / 2; };
  if (is_full()) {
    for (auto& [thread, lane] : blocked_) {
      if (!lane.feeds) {
        lane.intervals.at(static_cast<size_t>(Did::compute)).calls.clear();
      }
    }
    drop([](auto& entries) { return entries.begin(); });  // counts what is left
  }
  if (is_full()) {
    drop([](auto& entries) {
      return entries.begin() + static_cast<std::ptrdiff_t>(entries.size() - entries.size() / 2);
    });
  }
}

void Occupancy::advance(uint64_t watermark) {
  for (auto& [device, state] : devices_) {
    sweep(device, state, watermark);
  }
  std::erase_if(ended_, [&](const auto& ended) {
    if (ended.first > watermark) {
      return false;
    }
    for (auto& [device, state] : devices_) {
      state.sampled.forget(ended.second);
    }
    return true;
  });
}

uint64_t Occupancy::take_longest_gap(uint64_t watermark) {
  uint64_t longest = std::exchange(longest_gap_ns_, 0);
  for (const auto& [device, state] : devices_) {
    if (state.running.empty() && state.swept_to != 0 && state.swept_to < watermark) {
      longest = std::max(longest, watermark - state.swept_to);
    }
  }
  return longest;
}

// Merges neighbouring runs until one is left. Runs of different rings overlap little, so most of them stay where they
// are.
void Occupancy::sort(DeviceState& state) {
  std::vector<Interval>& all = state.pending;
  std::vector<size_t>& runs = state.runs;
  if (runs.size() > all.size() / kShortRun) {
    std::sort(all.begin(), all.end(), kStartsEarlier);
    runs.clear();
  }
  while (!runs.empty()) {
    std::vector<size_t> left;
    for (size_t i = 0; i < runs.size(); i += 2) {
      const auto at = [&](size_t index) { return all.begin() + static_cast<std::ptrdiff_t>(index); };
      const auto begin = at(i == 0 ? 0 : runs[i - 1]);
      const auto middle = at(runs[i]);
      const auto end = at(i + 1 < runs.size() ? runs[i + 1] : all.size());
      std::inplace_merge(std::upper_bound(begin, middle, *middle, kStartsEarlier), middle,
                         std::lower_bound(middle, end, *(middle - 1), kStartsEarlier), kStartsEarlier);
      if (i + 1 < runs.size()) {
        left.push_back(runs[i + 1]);
      }
    }
    runs = std::move(left);
  }
}

// Charges all time before `until`. If the interval ends with a gap, the gap is charged later, when the next work is
// known.
void Occupancy::sweep(Device device, DeviceState& state, uint64_t until) {
  sort(state);
  const auto rest = std::partition_point(state.pending.begin(), state.pending.end(),
                                         [until](const Interval& work) { return work.start < until; });
  for (auto next = state.pending.begin(); next != rest; ++next) {
    run_until(state, next->start);
    if (state.running.empty() && next->start > state.swept_to) {
      charge_idle(device, state.swept_to, *next);
      longest_gap_ns_ = std::max(longest_gap_ns_, state.swept_to == 0 ? 0 : next->start - state.swept_to);
      state.swept_to = next->start;
    }
    if (state.running.size() < kMaxRunningWork) {
      state.running.push_back({*next, {}});
    } else {
      late_ns_ += windows_.recorded(next->start, next->end);
    }
  }
  state.pending.erase(state.pending.begin(), rest);
  run_until(state, until);
  if (!state.sampled.empty() && slice(until) > state.sampled.first_slice()) {
    settle(device, state.sampled, (slice(until) - state.sampled.first_slice()) * grid_.interval_ns > kLongestHoldNs);
  }
}

void Occupancy::run_until(DeviceState& state, uint64_t until) {
  while (!state.running.empty()) {
    const uint64_t first_end =
        std::min_element(state.running.begin(), state.running.end(), [](const auto& a, const auto& b) {
          return a.end < b.end;
        })->end;
    charge_running(state, std::min(first_end, until));
    if (first_end > until) {
      return;
    }
    for (Running& work : state.running) {
      if (work.end <= first_end) {
        flush(work, slice(work.end));
      }
    }
    std::erase_if(state.running, [first_end](const Running& work) { return work.end <= first_end; });
  }
}

void Occupancy::flush(Running& work, uint64_t slice) {
  if ((work.share.busy_ns | work.share.exclusive_ns) != 0) {
    Share& sum = shares_[{slice, work.work, 0}];
    sum.busy_ns += work.share.busy_ns;
    sum.exclusive_ns += work.share.exclusive_ns;
    work.share = {};
  }
}

uint64_t Occupancy::end_of_slice(uint64_t at, uint64_t until) const {
  const uint64_t in = slice(at);
  const uint64_t left = at < start_ns_ ? start_ns_ - at : begin_ns(in + grid_.width(in)) - at;
  if (until - at <= left) {
    return until;
  }
  const uint64_t ns = windows_.recorded(at, until);
  return ns == 0 || ns / grid_.interval_ns / grid_.width(in) > kMostSlices ? until : at + left;
}

void Occupancy::charge_running(DeviceState& state, uint64_t until) {
  while (state.swept_to < until) {
    const uint64_t end = end_of_slice(state.swept_to, until);
    const uint64_t ns = windows_.recorded(state.swept_to, end);
    const uint64_t each = ns / state.running.size();
    // Give each of the first `left` work items 1 ns more, so that the sum is exact.
    uint64_t left = ns % state.running.size();
    for (Running& work : state.running) {
      work.share.exclusive_ns += each + (left > 0 ? 1 : 0);
      left -= left > 0 ? 1 : 0;
    }
    state.running.front().share.busy_ns += ns;
    if (slice(end) != slice(state.swept_to)) {
      for (Running& work : state.running) {
        flush(work, slice(state.swept_to));
      }
    }
    state.swept_to = end;
  }
}

// Gaps mostly follow each other, so the search begins at the last result. Calls of one thread do not overlap, so their
// ends are in ascending order, too.
size_t Occupancy::first_after(Blocked& blocked, uint64_t begin) {
  const std::deque<Call>& calls = blocked.calls;
  if (blocked.next > calls.size() || (blocked.next > 0 && calls[blocked.next - 1].end > begin)) {
    const auto call = std::upper_bound(calls.begin(), calls.end(), begin,
                                       [](uint64_t time, const Call& one) { return time < one.end; });
    blocked.next = static_cast<size_t>(call - calls.begin());
  }
  while (blocked.next < calls.size() && calls[blocked.next].end <= begin) {
    ++blocked.next;
  }
  return blocked.next;
}

// Charges the gap from `begin` to the start of `next` to what the thread that launched `next` did. Time that no
// interval of the thread explains is charged to next.otherwise.
void Occupancy::charge_idle(Device device, uint64_t begin, const Interval& next) {
  const auto found = blocked_.find(next.thread);
  if (found == blocked_.end()) {
    add_idle(device, next.otherwise, begin, next.start);
    return;
  }
  found->second.feeds = true;
  Lane& lane = found->second;
  if (lane.exact_since != 0) {
    charge_lane(device, lane, kExact, begin, next.start,
                [&](uint64_t from, uint64_t to) { charge_on_cpu(device, lane, from, to, next.otherwise); });
  } else if (windows_.recorded(begin, next.start) < sampled_gap_ns_) {
    charge_lane(device, lane, kInShortGap, begin, next.start,
                [&](uint64_t from, uint64_t to) { charge_sampled(device, lane, from, to, next.otherwise); });
  } else {
    charge_lane(device, lane, kInLongGap, begin, next.start,
                [&](uint64_t from, uint64_t to) { add_idle(device, next.otherwise, from, to); });
  }
}

SampledIdle& Occupancy::sampled_at(Device device, uint64_t begin) {
  SampledIdle& sampled = devices_[device].sampled;
  if (!sampled.empty() && slice(begin) > sampled.first_slice()) {
    settle(device, sampled, false);
  }
  return sampled;
}

void Occupancy::add_samples(SampledIdle& sampled, Lane& lane, uint64_t begin, uint64_t end) {
  Blocked& samples = lane.intervals.at(static_cast<size_t>(Did::compute));
  for (size_t i = first_after(samples, begin); i < samples.calls.size() && samples.calls[i].end <= end; ++i) {
    sampled.add_sample(samples.calls[i].work, samples.calls[i].end - samples.calls[i].start);
  }
}

void Occupancy::charge_on_cpu(Device device, Lane& lane, uint64_t begin, uint64_t end, Work otherwise) {
  const uint64_t known_from = std::clamp(lane.exact_since, begin, end);
  charge_lane(device, lane, kBeforeExact, begin, known_from,
              [&](uint64_t from, uint64_t to) { add_idle(device, otherwise, from, to); });
  SampledIdle& sampled = sampled_at(device, known_from);
  add_samples(sampled, lane, known_from, end);
  for_each_slice(known_from, end, [&](uint64_t in, uint64_t ns) { sampled.add_on_cpu(in, lane.on_cpu, ns); });
}

void Occupancy::charge_sampled(Device device, Lane& lane, uint64_t begin, uint64_t end, Work otherwise) {
  const auto first = std::upper_bound(lane.polls.begin(), lane.polls.end(), begin,
                                      [](uint64_t time, const Poll& poll) { return time < poll.at; });
  // Polls of other threads must not explain the time of a thread that is not polled, or not yet.
  if (first == lane.polls.begin() || begin - std::prev(first)->at > kLongestPoll * sampled_gap_ns_) {
    add_idle(device, otherwise, begin, end);
    return;
  }
  SampledIdle& sampled = sampled_at(device, begin);
  auto poll = first;
  for (; poll != lane.polls.end() && poll->at <= end; ++poll) {
    if (!poll->is_runnable) {
      sampled.add_blocked(poll->cause);
    } else if (lane.is_sampled) {
      sampled.add_runnable(poll->cause);
    } else {
      sampled.add_unexplained();  // CPU samples of other threads must not explain its time
    }
  }
  // A wait counts when it has ended, so the poll after the gap shows it, too. A poll that follows two gaps counts once.
  const auto last = poll == lane.polls.end() ? std::prev(poll) : poll;
  uint64_t& waited_ns = lane.waited_ns[device];
  waited_ns = std::max(waited_ns, std::prev(first)->waited_ns);
  const uint64_t between_ns = last->at - std::prev(first)->at;
  if (windows_.recorded(std::prev(first)->at, last->at) == between_ns) {  // else there are waits of a pause
    sampled.add_waited(last->waited_ns - std::min(waited_ns, last->waited_ns));
  }
  waited_ns = last->waited_ns;
  add_samples(sampled, lane, begin, end);
  for_each_slice(begin, end, [&](uint64_t in, uint64_t ns) { sampled.add_time(in, otherwise, ns); });
}

void Occupancy::settle(Device device, SampledIdle& sampled, bool at_once) {
  sampled.settle(at_once, [&](uint64_t in, Work work, uint64_t ns) { idle_[{in, work, device}] += ns; });
}

void Occupancy::charge_lane(Device device, Lane& lane, std::span<const Did> kinds, uint64_t begin, uint64_t end,
                            const Rest& rest) {
  if (begin == end) {
    return;
  }
  if (kinds.empty()) {
    rest(begin, end);
    return;
  }
  uint64_t at = begin;
  Blocked& blocked = lane.intervals.at(static_cast<size_t>(kinds.front()));
  const auto charge_rest = [&](uint64_t from, uint64_t to) {
    charge_lane(device, lane, kinds.subspan(1), from, to, rest);
  };
  for (size_t i = first_after(blocked, begin); i < blocked.calls.size() && blocked.calls[i].start < end; ++i) {
    const Call& call = blocked.calls[i];
    if (call.start > at) {
      charge_rest(at, call.start);
      at = call.start;
    }
    const uint64_t until = std::min(call.end, end);
    if (until <= at) {
      continue;
    }
    uint64_t ns = until - at;
    if (call.limit < call.end - call.start) {
      Charged& charged = blocked.charged[{device, call.work}];
      charged = charged.start == call.start ? charged : Charged{call.start, 0};
      ns = std::min(ns, call.limit - charged.ns);
      charged.ns += ns;
    }
    add_idle(device, call.work, at, at + ns);
    at += ns;
  }
  charge_rest(at, end);
}

template <typename Use>
void Occupancy::for_each_slice(uint64_t begin, uint64_t end, Use use) const {
  while (begin < end) {
    const uint64_t until = end_of_slice(begin, end);
    if (const uint64_t ns = windows_.recorded(begin, until); ns != 0) {
      use(slice(begin), ns);
    }
    begin = until;
  }
}

void Occupancy::add_idle(Device device, Work work, uint64_t begin, uint64_t end) {
  for_each_slice(begin, end, [&](uint64_t in, uint64_t ns) { idle_[{in, work, device}] += ns; });
}

void Occupancy::finish() {
  const uint64_t end = windows_.is_open() ? start_ns_ : std::max(start_ns_, windows_.end());
  for (auto& [device, state] : devices_) {
    sweep(device, state, UINT64_MAX);
    settle(device, state.sampled, true);
    add_idle(device, 0, state.swept_to, end);
    state.swept_to = std::max(state.swept_to, end);
  }
}

size_t Occupancy::pending() const {
  size_t count = 0;
  for (const auto& [device, state] : devices_) {
    count += state.pending.size() + state.running.size();
  }
  return count;
}

SampledIdle::Totals Occupancy::sampled() const {
  SampledIdle::Totals all;
  for (const auto& [device, state] : devices_) {
    all.ns += state.sampled.totals().ns;
    all.polls += state.sampled.totals().polls;
  }
  return all;
}

uint64_t Occupancy::idle_known_until(uint64_t watermark) const {
  for (const auto& [device, state] : devices_) {
    watermark = state.sampled.empty() ? watermark : std::min(watermark, begin_ns(state.sampled.first_slice()));
  }
  return watermark;
}

Occupancy::Shares Occupancy::take_shares() {
  Shares taken(shares_.begin(), shares_.end());
  shares_.clear();
  return taken;
}

Occupancy::Idles Occupancy::take_idle() {
  Idles taken(idle_.begin(), idle_.end());
  idle_.clear();
  return taken;
}

}  // namespace gpuprof::record
