#include "record/join/context/coverage.h"

#include <algorithm>

#include "base/saturating_add.h"
#include "wire/wire.h"

namespace gpuprof::record {

using profile::CoverageCount;

void CoverageCounts::add(const CoverageCounts& other) {
  for (size_t what = 0; what < counts_.size(); ++what) {
    counts_[what] += other.counts_[what];
  }
}

void CoverageCounts::append_to(std::vector<profile::Coverage>& out, profile::ProcessId process) const {
  for (size_t what = 0; what < counts_.size(); ++what) {
    if (counts_[what] != 0) {
      out.push_back({process, profile::word(static_cast<CoverageCount>(what)), counts_[what]});
    }
  }
}

void SourceCoverage::stack_walked(const StackShape& shape, uint64_t launches) {
  const bool truncated = (shape.flags & GPUPROF_STACK_TRUNCATED) != 0;
  count(truncated ? CoverageCount::stack_truncated : CoverageCount::stack_whole, launches);
  if ((shape.flags & GPUPROF_STACK_NO_PYTHON) != 0) {
    count(CoverageCount::stack_no_python, launches);
  }
}

CoverageCounts SourceCoverage::sum_up(const backend::Counters& counters) const {
  CoverageCounts sum = seen_;
  // Assign each launch to one counter. The sum of a target's counters can exceed its launches, so `rest` limits each
  // counter.
  uint64_t rest = counters.launches;
  const auto take = [&rest](uint64_t wanted) {
    const uint64_t taken = std::min(wanted, rest);
    rest -= taken;
    return taken;
  };
  // A target begins to record before a window opens.
  const uint64_t early = take(seen_[CoverageCount::between_windows]);
  sum[CoverageCount::launches] = rest;
  sum[CoverageCount::matched] = take(seen_[CoverageCount::matched]);
  sum[CoverageCount::captured] = take(counters.counts[GPUPROF_COUNT_CAPTURED]);
  sum[CoverageCount::failed] = take(std::max(counters.counts[GPUPROF_COUNT_FAILED], failed_outside_) - failed_outside_);
  // GPU work without a known launch proves that the launch happened and that its event was lost. Count such launches as
  // matched.
  sum[CoverageCount::matched] += take(orphans_);
  sum[CoverageCount::without_record] = rest;
  const uint64_t launches = sum[CoverageCount::launches];
  const uint64_t passed = saturating_add(counters.counts[GPUPROF_COUNT_PASSED], early);
  sum[CoverageCount::between_windows] = saturating_add(passed, counters.counts[GPUPROF_COUNT_UNWANTED]);
  if (sum[CoverageCount::weighted] > 0) {
    // Of the launches between windows, the same share had work of its own as of the recorded ones. A target's counters
    // may be false.
    const uint64_t matched = sum[CoverageCount::matched];
    const auto with_work = [matched, launches](uint64_t count) {
      return static_cast<uint64_t>(profile::Uint128{count} * matched / std::max(launches, uint64_t{1}));
    };
    sum[CoverageCount::represented] = saturating_add(with_work(passed), matched);
    sum[CoverageCount::extrapolated] = with_work(std::min(counters.counts[GPUPROF_COUNT_EXTRAPOLATED], passed));
  }
  sum[CoverageCount::outside_range] += counters.counts[GPUPROF_COUNT_OUTSIDE];
  return sum;
}

}  // namespace gpuprof::record
