#include "profile/coverage.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "base/numbers.h"

namespace gpuprof::profile {
namespace {

// Of these, the GPU work itself is in the profile. All other reasons stand for GPU records that are not.
constexpr std::array<std::string_view, 15> kOtherLosses = {
    "reentrant",        "bpf_ring_full",   "bpf_stack_lost", "stack_unreadable", "stack_not_taken",
    "no_launch_record", "process_refused", "range_limit",    "late_name",        "launch_without_record",
    "timeline_full",    "details_lost",    "kernel_name",    "memory_limit",     "samples_dropped"};

}  // namespace

double WorkCoverage::percent() const {
  if (!any()) {
    return 0;
  }
  return std::min(100.0,
                  100 * static_cast<double>(with_stack) / (static_cast<double>(recorded) + static_cast<double>(lost)));
}

std::string WorkCoverage::percent_text() const {
  return percent_text_down(with_stack, all());
}

uint64_t WorkCoverage::all() const {
  return lost > UINT64_MAX - recorded ? UINT64_MAX : recorded + lost;
}

uint64_t lost_gpu_work(const std::map<std::string, uint64_t>& losses, uint64_t launches_without_record) {
  uint64_t lost = 0;
  for (const auto& [reason, count] : losses) {
    const bool other = std::find(kOtherLosses.begin(), kOtherLosses.end(), reason) != kOtherLosses.end();
    lost += other ? 0 : count;
  }
  const auto told = losses.find("launch_without_record");
  return std::max({lost, launches_without_record, told == losses.end() ? 0 : told->second});
}

}  // namespace gpuprof::profile
