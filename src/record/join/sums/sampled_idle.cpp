#include "record/join/sums/sampled_idle.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "profile/records.h"

namespace gpuprof::record {
namespace {

// Gets the part of a time that no work explains.
constexpr SampledIdle::Work kNoWork = 0;

uint64_t part_of(uint64_t value, uint64_t part, uint64_t whole) {
  return whole == 0 ? 0 : static_cast<uint64_t>(profile::Uint128{value} * part / whole);
}

uint64_t sum(const std::map<SampledIdle::Work, uint64_t>& values) {
  uint64_t sum = 0;
  for (const auto& [work, value] : values) {
    sum += value;
  }
  return sum;
}

void add_all(const std::map<SampledIdle::Work, uint64_t>& values, std::map<SampledIdle::Work, uint64_t>& to) {
  for (const auto& [work, value] : values) {
    to[work] += value;
  }
}

void halve_all(std::map<SampledIdle::Work, uint64_t>& values) {
  for (auto& [work, value] : values) {
    value /= 2;
  }
  std::erase_if(values, [](const auto& entry) { return entry.second == 0; });
}

}  // namespace

void SampledIdle::Counts::add(const Counts& other) {
  add_all(other.blocked, blocked);
  add_all(other.runnable, runnable);
  add_all(other.samples, samples);
  waited_ns += other.waited_ns;
  time_ns += other.time_ns;
  on_cpu_ns += other.on_cpu_ns;
  moments += other.moments;
}

void SampledIdle::Counts::halve() {
  halve_all(blocked);
  halve_all(runnable);
  halve_all(samples);
  waited_ns /= 2;
  time_ns /= 2;
  on_cpu_ns /= 2;
  moments /= 2;
}

// Leaves out the same part of the waits and of the time as of the polls.
void SampledIdle::Counts::forget(const std::unordered_set<Work>& causes) {
  const uint64_t all = polls();
  for (std::map<Work, uint64_t>* const counts : {&blocked, &runnable, &samples}) {
    std::erase_if(*counts, [&causes](const auto& entry) { return causes.contains(entry.first); });
  }
  waited_ns = part_of(waited_ns, polls(), all);
  time_ns = part_of(time_ns, polls(), all);
}

uint64_t SampledIdle::Counts::polls() const {
  return sum(blocked) + sum(runnable);
}

uint64_t SampledIdle::Counts::runnable_ns() const {
  return part_of(time_ns, sum(runnable), polls());
}

uint64_t SampledIdle::Counts::cpu_ns() const {
  return sum(samples);
}

bool SampledIdle::Counts::are_enough() const {
  return evidence() >= kLeastPolls && (runnable.empty() || !samples.empty());
}

void SampledIdle::add_time(uint64_t slice, Work otherwise, uint64_t ns) {
  time_[{slice, otherwise}] += ns;
  now_.time_ns += ns;
}

void SampledIdle::add_on_cpu(uint64_t slice, Work on_cpu, uint64_t ns) {
  add_time(slice, on_cpu, ns);
  now_.on_cpu_ns += ns;
}

void SampledIdle::add_sample(Work stack, uint64_t ns) {
  ++now_.moments;
  now_.samples[stack] += ns;
}

std::map<SampledIdle::Work, uint64_t> SampledIdle::shares_of(const Counts& counts) const {
  if (counts.are_exact() && !counts.samples.empty()) {
    return counts.samples;  // even few samples say more than none, because the time on a CPU is known
  }
  const uint64_t polls = counts.polls();
  if (polls < kLeastPolls) {
    return {{kNoWork, 1}};
  }
  std::map<Work, uint64_t> shares;
  for (const auto& [cause, count] : counts.blocked) {
    shares[cause] += part_of(counts.time_ns, count, polls);
  }
  // The threads also waited for a processor while the device was busy, and in calls. Over the whole recording, the part
  // of the waits that lies in runnable time of gaps is what this time exceeds the CPU time by.
  const uint64_t runnable_ns = counts.runnable_ns();
  const uint64_t excess_ns = std::min(waited_ns_, runnable_ns_ - std::min(runnable_ns_, cpu_ns_));
  const uint64_t waited_ns = std::min(runnable_ns, part_of(counts.waited_ns, excess_ns, waited_ns_));
  for (const auto& [no_processor, count] : counts.runnable) {
    shares[no_processor] += part_of(waited_ns, count, sum(counts.runnable));
  }
  const uint64_t sampled_ns = counts.cpu_ns();
  for (const auto& [stack, ns] : counts.samples) {
    shares[stack] += part_of(runnable_ns - waited_ns, ns, sampled_ns);
  }
  shares[kNoWork] += sampled_ns == 0 ? runnable_ns - waited_ns : 0;
  return shares;
}

void SampledIdle::forget(const std::unordered_set<Work>& causes) {
  before_.forget(causes);
}

void SampledIdle::settle(bool at_once, const Emit& emit) {
  if (!at_once && !now_.are_enough()) {
    return;
  }
  totals_.polls += now_.polls();
  runnable_ns_ += now_.runnable_ns();
  cpu_ns_ += now_.cpu_ns();
  waited_ns_ += now_.waited_ns;
  if (!now_.are_enough()) {
    now_.add(before_);
  }
  const bool by_polls = !now_.are_exact();
  const std::map<Work, uint64_t> shares = shares_of(now_);
  std::vector<uint64_t> weights;
  weights.reserve(shares.size());
  for (const auto& [work, share] : shares) {
    weights.push_back(share);
  }
  for (const auto& [key, ns] : std::exchange(time_, {})) {
    const std::vector<uint64_t> parts = split_.split(ns, weights);
    size_t i = 0;
    for (const auto& [work, share] : shares) {
      if (const uint64_t part = parts[i++]; part > 0) {
        emit(key.first, work == kNoWork ? key.second : work, part);
        totals_.ns += work == kNoWork || !by_polls ? 0 : part;
      }
    }
  }
  before_ = std::exchange(now_, {});
  if (before_.evidence() > 2 * kLeastPolls) {
    before_.halve();  // newer polls soon count more than these
  }
}

}  // namespace gpuprof::record
