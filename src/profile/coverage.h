// Defines coverage (how much GPU work has a CPU stack) for the recorder's summary, the readers and --min-coverage.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

namespace gpuprof::profile {

// The counters of COVERAGE lines; FORMAT.md explains each. launches == matched + captured + failed + without_record.
enum class CoverageCount : uint8_t {
  launches,
  matched,
  captured,
  failed,
  without_record,
  unsampled,
  without_stack,
  without_launch,
  before_attach,
  samples_without_launch,
  samples_foreign,
  outside_range,
  stack_whole,
  stack_truncated,
  stack_no_python,
};
inline constexpr size_t kCoverageCounts = static_cast<size_t>(CoverageCount::stack_no_python) + 1;

std::string_view word(CoverageCount what);

// Coverage of GPU records. In a profile without GPU records: coverage of launches, or of stall samples.
struct WorkCoverage {
  uint64_t recorded = 0;
  uint64_t with_stack = 0;  // records whose launch has a CPU stack; extrapolated stacks do not count
  uint64_t lost = 0;        // known to have existed, but not recorded

  [[nodiscard]] bool any() const { return recorded > 0 || lost > 0; }
  // 100 * with_stack / (recorded + lost). 0 if both are 0, because such a profile explains nothing.
  [[nodiscard]] double percent() const;
  [[nodiscard]] std::string percent_text() const;  // "97.34%", rounded down
  [[nodiscard]] uint64_t all() const;              // recorded + lost, clamped to 2^64 - 1
};

// Returns how many GPU work items are missing. LOSS lines and launches without GPU work may count the same work items,
// so this is the larger of the two numbers. Unknown LOSS reasons count as work. `losses` must sum to less than 2^64.
uint64_t lost_gpu_work(const std::map<std::string, uint64_t>& losses, uint64_t launches_without_record);

uint64_t lost_samples(const std::map<std::string, uint64_t>& losses);

}  // namespace gpuprof::profile
