#include "record/join/samples/window_sample_join.h"

#include <algorithm>

#include "record/join/launches/attribution.h"
#include "record/join/sums/rows.h"

namespace gpuprof::record {
namespace {

constexpr const char* kUnknown = "[unknown]";
constexpr uint64_t kRetryNs = 200'000'000;
// Samples wait for the end of their kernel for up to this time.
constexpr uint64_t kLongestNs = 600'000'000'000;
// If this many windows are open, dropped samples do not open another one. They may then be counted as lost twice.
constexpr size_t kMaxRefusing = 65536;

uint64_t sum_of(const auto& counts) {
  uint64_t sum = 0;
  for (const auto& count : counts) {
    sum += count.samples;
  }
  return sum;
}

}  // namespace

void WindowSampleJoin::on_samples(const Source& source, const backend::LocationSamples& samples) {
  const uint64_t sum = sum_of(samples.reasons);
  if (!rows_.admit(&source, sum)) {
    return;
  }
  const WindowKey key{source.id, samples.window};
  if (counts_ >= kMaxCounts || !join_.memory().admit()) {
    // Count these samples as received although they are dropped. Otherwise on_window() would count them as missing
    // again.
    if (open_.contains(key) || open_.size() < kMaxRefusing) {
      open_[key].told += sum;
    }
    rows_.drop(&source, sum);
    return;
  }
  OpenWindow& window = open_[key];
  window.told += sum;
  auto& counts = window.functions[{samples.module, samples.function_id, samples.correlation}];
  for (const auto& reason : samples.reasons) {
    counts.push_back(
        {samples.offset, samples.address, reason.reason_id, reason.samples, samples.estimated, samples.low_address});
  }
  counts_ += samples.reasons.size();
  join_.memory().grew(samples.reasons.size() * sizeof(Count));
}

void WindowSampleJoin::on_window(const Source& source, const backend::SampleWindow& window) {
  OpenWindow samples;
  if (auto found = open_.extract({source.id, window.window}); !found.empty()) {
    samples = std::move(found.mapped());
  }
  for (auto& [key, counts] : samples.functions) {
    waiting_.push_back({.source = source.id,
                        .module = std::get<0>(key),
                        .function_id = std::get<1>(key),
                        .correlation = std::get<2>(key),
                        .window = window,
                        .closed_ns = join_.now_ns,
                        .sampling = rows_.sampling(window.period, window.unit),
                        .counts = std::move(counts)});
  }
  // If the target's ring was full, fewer samples have arrived than the target has read.
  const uint64_t missing = window.dropped + (window.handed > samples.told ? window.handed - samples.told : 0);
  if (missing > 0 && rows_.admit(&source, missing)) {
    rows_.drop(&source, missing);
  }
  if (rows_.admit(&source, window.foreign)) {
    join_.counters.coverage(source.id).count(profile::CoverageCount::samples_foreign, window.foreign);
  }
}

void WindowSampleJoin::retry_pending(bool last, backend::SourceId only) {
  if (!last && join_.now_ns < next_check_ns_) {
    return;
  }
  next_check_ns_ = join_.now_ns + kRetryNs;
  compared_until_ = join_.compared + (last ? kMaxComparedLast : kMaxCompared);
  const size_t first = last ? 0 : std::exchange(next_group_, 0);
  size_t at = 0;
  size_t stays = 0;
  bool stopped = false;
  std::erase_if(waiting_, [&](Group& group) {
    const bool is_last = last || counts_ >= kMaxCounts;
    bool waits = (only != 0 && group.source != only) || (!is_last && join_.now_ns < group.closed_ns + kTimesNs);
    if (!waits && !is_last && (at < first || stopped || !may_compare())) {
      waits = true;
      if (at >= first && !std::exchange(stopped, true)) {
        next_group_ = stays;
      }
    }
    ++at;
    join_.compared += waits ? 0 : group.counts.size();
    const bool taken = !waits && take(group, is_last ? RetryPolicy::last_try : RetryPolicy::retry);
    counts_ -= taken ? group.counts.size() : 0;
    stays += taken ? 0 : 1;
    return taken;
  });
}

// Attributes the group's samples or drops them. Returns false if some of the samples must wait.
bool WindowSampleJoin::take(Group& group, RetryPolicy policy) {
  Source* source = parts_.producers.find(group.source);
  if (source == nullptr) {
    rows_.drop(nullptr, sum_of(group.counts));
    return true;
  }
  if (group.function_id == 0) {
    return take_addresses(*source, group, policy);
  }
  if (group.correlation != 0 && !parts_.kernel_times.expects(group.source, group.correlation)) {
    // Ignore samples of a launch that was not announced, because they are incomplete. If the table of announced
    // launches is full, this launch may have been announced, so count a loss.
    if (parts_.kernel_times.is_full()) {
      rows_.drop(source, sum_of(group.counts));
    }
    return true;
  }
  const uint64_t waited = join_.now_ns - std::min(join_.now_ns, group.closed_ns);
  const auto code_may_come = [&](const Count& count) { return places_.may_come(location_of(*source, group, count)); };
  if (policy != RetryPolicy::last_try && waited < SampledCode::kCodeNs &&
      (!source->knows_name(group.function_id) ||
       std::any_of(group.counts.begin(), group.counts.end(), code_may_come))) {
    return false;
  }
  std::vector<KernelShare> shares = may_compare() ? shares_of(*source, group, policy) : std::vector<KernelShare>();
  if (shares.empty() && policy != RetryPolicy::last_try && waited < kLongestNs) {
    return false;
  }
  if (shares.empty()) {
    shares.push_back(unknown_work(*source, group));
    join_.counters.coverage(source->id).count(profile::CoverageCount::samples_without_launch, sum_of(group.counts));
  }
  // Leaves out the works with the shortest times.
  if (const size_t most = kMaxParts / group.counts.size() + 1; shares.size() > most) {
    std::nth_element(shares.begin(), shares.begin() + static_cast<std::ptrdiff_t>(most), shares.end(),
                     [](const KernelShare& a, const KernelShare& b) { return a.ns > b.ns; });
    shares.resize(most);
  }
  join_.compared += shares.size() * group.counts.size();
  Candidates candidates;
  for (const Count& count : group.counts) {
    const CodeLocation at = location_of(*source, group, count);
    candidates.clear();
    for (const KernelShare& share : shares) {
      candidates.push_back({at, share});
    }
    add(*source, group, count, candidates);
  }
  return true;
}

// Attributes the samples of the group. Samples that must wait stay in the group.
bool WindowSampleJoin::take_addresses(Source& source, Group& group, RetryPolicy policy) {
  if (policy != RetryPolicy::last_try && join_.now_ns < group.next_check_ns) {
    return false;
  }
  const uint64_t waited = join_.now_ns - std::min(join_.now_ns, group.closed_ns);
  // Retry at growing intervals, but always before KernelTimes drops a run that ended after the last try.
  group.next_check_ns = join_.now_ns + std::min(waited / 4, KernelTimes::kKeepNs / 2);
  AddressLookup lookup(loaded_, parts_.kernel_times, source, group.window);
  const size_t before = group.counts.size();
  std::erase_if(group.counts, [&](const Count& count) {
    if (!may_compare() && policy != RetryPolicy::last_try) {
      return false;
    }
    static const AddressLookup::Answer none;
    const AddressLookup::Answer& answer = may_compare() ? lookup.find(count.address, count.low_address) : none;
    join_.compared += answer.ran.size();
    if (must_wait(answer, waited, policy)) {
      return false;
    }
    if (answer.ran.empty()) {
      add_unknown(source, group, count);
    } else {
      add(source, group, count, answer.ran);
    }
    return true;
  });
  counts_ -= before - group.counts.size();
  return group.counts.empty();
}

// Returns true if code has not arrived or if the kernel may still be running.
bool WindowSampleJoin::must_wait(const AddressLookup::Answer& answer, uint64_t waited, RetryPolicy policy) const {
  if (policy == RetryPolicy::last_try || answer.places.empty()) {
    return false;
  }
  return answer.ran.empty() ? waited < kLongestNs
                            : waited < SampledCode::kCodeNs &&
                                  std::any_of(answer.places.begin(), answer.places.end(),
                                              [this](const CodeLocation& at) { return places_.may_come(at); });
}

// Apportions the samples among the candidates by the time for which each of them ran.
void WindowSampleJoin::add(const Source& source, const Group& group, const Count& count, const Candidates& candidates) {
  std::vector<uint64_t> weights;
  weights.reserve(candidates.size());
  for (const AddressLookup::Candidate& candidate : candidates) {
    // Limit each weight, so that the sum fits into 64 bits.
    weights.push_back(std::min(candidate.share.ns, UINT64_MAX / candidates.size()));
  }
  const auto parts = split_.split(count.samples, weights);
  for (size_t i = 0; i < parts.size(); ++i) {
    if (parts[i] == 0) {
      continue;
    }
    const auto& [at, share] = candidates[i];
    const SampleKey key{.work = share.work,
                        .place = places_.place(source, at),
                        .reason = source.name(count.reason_id),
                        .sampling = group.sampling,
                        .flags = candidates.size() > 1 || count.estimated ? profile::kSampleEstimated : 0};
    places_.add_samples(source, at, key.place, key.reason, parts[i]);
    rows_.add(key, share.at_ns, parts[i], share.has_stack);
  }
}

// Adds samples to `[unknown]`. Such samples exist because the hardware also samples other processes on the device, and
// work that was not reported.
void WindowSampleJoin::add_unknown(const Source& source, const Group& group, const Count& count) {
  WorkKey work{.process = source.process(),
               .device = source.device(group.window.device),
               .name = parts_.producers.names().intern(kUnknown)};
  rows_.add({.work = parts_.rows.intern(work), .reason = source.name(count.reason_id), .sampling = group.sampling},
            group.window.start_ns, count.samples, false);
}

// Returns the code location of the samples. If they have an address but no module, another source of the process may
// have loaded the code, so the function searches for the code by its address.
CodeLocation WindowSampleJoin::location_of(const Source& source, const Group& group, const Count& count) const {
  if (group.module == 0 && count.address != 0 && may_compare()) {
    if (const auto loaded = loaded_.find(source.process(), count.address, group.window.start_ns, group.window.end_ns)) {
      return *loaded;
    }
  }
  return {source.id, group.module, source.name(group.function_id), count.offset};
}

// Returns the work of the group's launch if that is known. Otherwise returns the work in the window that ran the
// function, or the kernel that contains the function.
std::vector<KernelShare> WindowSampleJoin::shares_of(const Source& source, const Group& group, RetryPolicy policy) {
  const KernelTimes& times = parts_.kernel_times;
  const bool is_last = policy == RetryPolicy::last_try;
  if (times.expects(group.source, group.correlation)) {
    auto ran = times.of_launch(group.source, group.correlation);
    if (!ran.empty() || !is_last) {
      return ran;
    }
  }
  const NameIndex function = source.name(group.function_id);
  for (const NameIndex name : {function, places_.kernel_of(group.source, group.module, function)}) {
    const KernelKey kernel{group.source, group.window.device, name};
    auto shares = times.within(kernel, group.window.start_ns, group.window.end_ns);
    // Only sources that take samples report exact windows. If nothing ran in an exact window, wait, because the kernel
    // may still be running. For an inexact window, accept an earlier run.
    if (shares.empty() && (!source.traits.takes_samples || is_last)) {
      shares = times.before(kernel, group.window.end_ns);
    }
    if (!shares.empty()) {
      return shares;
    }
  }
  // In the last try, accept work at any time, because clocks may disagree.
  const KernelKey kernel{group.source, group.window.device, function};
  return is_last ? times.before(kernel, UINT64_MAX) : std::vector<KernelShare>();
}

// Returns the work for samples whose kernel is known, but not their launch.
KernelShare WindowSampleJoin::unknown_work(Source& source, const Group& group) {
  const LaunchSite site{
      .source = source.id, .device = group.window.device, .name_id = group.function_id, .is_sample = true};
  WorkKey key = parts_.attribution.key_of(source, site, nullptr);
  return {.work = parts_.rows.intern(key), .ns = 1, .at_ns = group.window.start_ns, .has_stack = false};
}

void WindowSampleJoin::end_source(backend::SourceId source) {
  // Windows that are still open will never close, so the times of their samples stay unknown. Drop these samples.
  const Source* const owner = parts_.producers.find(source);
  for (auto window = open_.lower_bound({source, 0}); window != open_.end() && window->first.first == source;) {
    for (const auto& [key, counts] : window->second.functions) {
      rows_.drop(owner, sum_of(counts));
      counts_ -= counts.size();
    }
    window = open_.erase(window);
  }
}

}  // namespace gpuprof::record
