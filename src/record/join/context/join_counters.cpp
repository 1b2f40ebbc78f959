#include "record/join/context/join_counters.h"

#include <algorithm>
#include <string>

#include "base/text/utf8.h"
#include "profile/loss.h"
#include "wire/wire.h"

namespace gpuprof::record {
namespace {

using profile::CoverageCount;
using profile::LossReason;

// These limits are so low that sums over sources fit into 64 bits.
constexpr uint64_t kMaxCounter = uint64_t{1} << 40;  // about 10^12 launches
constexpr uint64_t kMaxNs = uint64_t{1} << 53;       // 104 days

// Returns the growth of a counter. A target can write any value, so decreases are ignored and the value is clamped.
uint64_t growth(uint64_t& known, uint64_t told, uint64_t most = kMaxCounter) {
  const uint64_t before = known;
  known = std::max(known, std::min(told, most));
  return known - before;
}

}  // namespace

uint64_t Totals::lost_in_all() const {
  uint64_t sum = 0;
  for (const auto& [reason, count] : lost) {
    sum += count;
  }
  return sum;
}

void JoinCounters::add_loss(profile::ProcessId process, LossReason reason, uint64_t count) {
  if (count != 0) {
    losses_[{process, reason}] += count;
    totals_.lost[std::string(word(reason))] += count;
    totals_.losses[process].lost += profile::is_lost_work(word(reason)) ? count : 0;
  }
}

void JoinCounters::on_counters(const Source& source, const backend::Counters& counters) {
  backend::Counters& known = sources_[source.id].counters;
  totals_.launches += growth(known.launches, counters.launches);
  for (size_t kind = 0; kind < GPUPROF_LOSS_COUNT; ++kind) {
    add_loss(source.process(), profile::loss_reason_of(static_cast<gpuprof_loss>(kind)),
             growth(known.lost[kind], counters.lost[kind]));
  }
  for (size_t what = 0; what < GPUPROF_COUNTS; ++what) {
    const bool is_time = what == GPUPROF_COUNT_RECORDED_NS || what == GPUPROF_COUNT_PASSED_NS;
    totals_.counts[what] += growth(known.counts[what], counters.counts[what], is_time ? kMaxNs : kMaxCounter);
  }
}

void JoinCounters::stack_walked(backend::SourceId source, const StackShape& shape, uint64_t launches) {
  coverage(source).stack_walked(shape, launches);
  native_depths_.add(shape.native, launches);
  if (shape.python != 0) {
    python_depths_.add(shape.python, launches);
  }
}

void JoinCounters::python_refused(const Source& source) {
  if (source.python_refused.empty()) {
    return;
  }
  RefusedPython& first = totals_.refused_python;
  if (first.pid == 0) {
    first.pid = source.pid;
    append_escaped(source.python_version, {}, first.version);
    append_escaped(source.python_refused, {}, first.reason);
  }
  first.others = first.others || first.pid != source.pid;
}

JoinCounters::Unknown JoinCounters::unknown_without_work(backend::SourceId source) {
  const Counted& counted = sources_[source];
  const CoverageCounts counts = counted.coverage.sum_up(counted.counters);
  const uint64_t missing = counts[CoverageCount::without_record];
  return {.launches = missing - std::min(missing, counted.coverage.no_work_rows()),
          .weight = std::max(counts[CoverageCount::weighted] / std::max(counts[CoverageCount::matched], uint64_t{1}),
                             uint64_t{1})};
}

void JoinCounters::close(const Source& source) {
  const Counted counted = std::exchange(sources_[source.id], {});
  sources_.erase(source.id);
  const CoverageCounts counts = counted.coverage.sum_up(counted.counters);
  totals_.coverage.add(counts);
  if (counts[CoverageCount::weighted] > 0) {
    Estimated& process = totals_.estimated[source.process()];
    process.represented += counts[CoverageCount::represented];
    process.weighted += counts[CoverageCount::weighted];
    process.matched += counts[CoverageCount::matched];
  }
  if (const uint64_t missing = counts[CoverageCount::without_record]; missing > 0) {
    totals_.losses[source.process()].without_record += missing;
  }
  counts.append_to(closed_, source.process());
}

void JoinCounters::take_new(Batch& batch) {
  add_loss({}, LossReason::malformed, std::exchange(refused_, 0));
  add_loss({}, LossReason::late_name, std::exchange(late_names_, 0));
  add_loss({}, LossReason::timeline_full, std::exchange(timeline_dropped_, 0));
  for (const auto& [key, count] : std::exchange(losses_, {})) {
    batch.losses.push_back({key.first, profile::word(key.second), count});
  }
  for (const auto& [key, launches] : std::exchange(weighted_, {})) {
    batch.weighted.push_back({key.first, key.second, launches});
  }
  batch.coverage = std::exchange(closed_, {});
}

}  // namespace gpuprof::record
