#include "record/join/coverage.h"

#include <algorithm>
#include <utility>

#include "profile/coverage.h"
#include "wire/wire.h"

namespace gpuprof::record {
namespace {

using profile::CoverageCount;

constexpr std::pair<profile::CoverageCount, uint64_t CoverageCounts::*> kWords[] = {
    {CoverageCount::launches, &CoverageCounts::launches},
    {CoverageCount::matched, &CoverageCounts::matched},
    {CoverageCount::captured, &CoverageCounts::captured},
    {CoverageCount::failed, &CoverageCounts::failed},
    {CoverageCount::without_record, &CoverageCounts::without_record},
    {CoverageCount::unsampled, &CoverageCounts::unsampled},
    {CoverageCount::without_stack, &CoverageCounts::without_stack},
    {CoverageCount::without_launch, &CoverageCounts::without_launch},
    {CoverageCount::samples_without_launch, &CoverageCounts::samples_without_launch},
    {CoverageCount::samples_foreign, &CoverageCounts::samples_foreign},
    {CoverageCount::outside_range, &CoverageCounts::outside_range},
    {CoverageCount::stack_whole, &CoverageCounts::stack_whole},
    {CoverageCount::stack_truncated, &CoverageCounts::stack_truncated},
    {CoverageCount::stack_no_python, &CoverageCounts::stack_no_python},
};

constexpr bool in_order() {
  for (size_t i = 0; i < std::size(kWords); ++i) {
    if (kWords[i].first != static_cast<CoverageCount>(i)) {
      return false;
    }
  }
  return std::size(kWords) == profile::kCoverageCounts;
}
static_assert(in_order());

}  // namespace

void CoverageCounts::add(const CoverageCounts& other) {
  for (const auto& [what, member] : kWords) {
    this->*member += other.*member;
  }
}

void CoverageCounts::append_to(std::vector<profile::Coverage>& out, profile::ProcessId process) const {
  for (const auto& [what, member] : kWords) {
    if (this->*member != 0) {
      out.push_back({process, profile::word(what), this->*member});
    }
  }
}

void SourceCoverage::stack_walked(const StackShape& shape, uint64_t launches) {
  ((shape.flags & GPUPROF_STACK_TRUNCATED) != 0 ? truncated_ : whole_) += launches;
  no_python_ += (shape.flags & GPUPROF_STACK_NO_PYTHON) != 0 ? launches : 0;
}

CoverageCounts SourceCoverage::sum_up(const backend::Counters& counters) const {
  CoverageCounts sum;
  sum.launches = counters.launches;
  // Each is taken from what is left.
  uint64_t rest = sum.launches;
  const auto take = [&rest](uint64_t wanted) {
    const uint64_t taken = std::min(wanted, rest);
    rest -= taken;
    return taken;
  };
  sum.matched = take(matched_);
  sum.captured = take(counters.counts[GPUPROF_COUNT_CAPTURED]);
  sum.failed = take(counters.counts[GPUPROF_COUNT_FAILED]);
  // Work without a known launch belongs to a launch whose event was lost, as long as there are such.
  sum.matched += take(orphans_);
  sum.without_record = rest;
  sum.unsampled = std::min(counters.counts[GPUPROF_COUNT_UNSAMPLED], sum.launches);
  sum.without_stack = without_stack_;
  sum.without_launch = without_launch_;
  sum.outside_range = counters.counts[GPUPROF_COUNT_OUTSIDE] + outside_;
  sum.samples_without_launch = samples_without_launch_;
  sum.samples_foreign = samples_foreign_;
  sum.stack_whole = whole_;
  sum.stack_truncated = truncated_;
  sum.stack_no_python = no_python_;
  return sum;
}

}  // namespace gpuprof::record
