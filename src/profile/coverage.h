// How much of the GPU work a CPU stack explains: one definition for record's summary, the readers and --min-coverage.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

namespace gpuprof::profile {

// What COVERAGE lines count; FORMAT.md says what each one means. launches == matched + captured + failed +
// without_record.
enum class CoverageCount : uint8_t {
  launches,
  matched,
  captured,
  failed,
  without_record,
  unsampled,
  without_stack,
  without_launch,
  samples_without_launch,
  samples_foreign,
  outside_range,
  stack_whole,
  stack_truncated,
  stack_no_python,
};
inline constexpr size_t kCoverageCounts = static_cast<size_t>(CoverageCount::stack_no_python) + 1;

std::string_view word(CoverageCount what);

// What should have a stack: GPU records, or in a profile without them counted launches, or stall samples.
struct WorkCoverage {
  uint64_t recorded = 0;
  uint64_t with_stack = 0;  // of these; what --max-overhead left without one is not among them
  uint64_t lost = 0;        // known to have been there, and not recorded

  [[nodiscard]] bool any() const { return recorded > 0 || lost > 0; }
  // 100 * with_stack / (recorded + lost); 0 where there is nothing at all, as that explains nothing.
  [[nodiscard]] double percent() const;
  [[nodiscard]] std::string percent_text() const;  // "97.34%", rounded down
  [[nodiscard]] uint64_t all() const;              // recorded + lost, 2^64 - 1 where that is more: a hostile profile
};

// Pieces of GPU work that are not in the profile: the larger of two counts of the same thing, which are LOSS lines of
// lost work (loss.h; unknown reasons count) and launches that no GPU work came for. The sum of all counts of `losses`
// must fit.
uint64_t lost_gpu_work(const std::map<std::string, uint64_t>& losses, uint64_t launches_without_record);

// The same of samples of GPU code.
uint64_t lost_samples(const std::map<std::string, uint64_t>& losses);

}  // namespace gpuprof::profile
