// Defines coverage: how much GPU work has a CPU stack, and why a profile has no GPU work. The recorder's summary, the
// readers and --min-coverage use it.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace gpuprof::profile {

// The counters of COVERAGE lines, which FORMAT.md explains. launches == matched + captured + failed + without_record.
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
  between_windows,
  represented,
  weighted,
  extrapolated,
};
inline constexpr size_t kCoverageCounts = static_cast<size_t>(CoverageCount::extrapolated) + 1;

std::string_view word(CoverageCount what);

// The coverage of GPU records. If a profile has no GPU records, this is the coverage of launches or of stall samples.
struct WorkCoverage {
  uint64_t recorded = 0;
  // Number of records whose launch has a CPU stack. Extrapolated stacks do not count.
  uint64_t with_stack = 0;
  uint64_t lost = 0;  // number of records that existed but were not recorded

  [[nodiscard]] bool any() const { return recorded > 0 || lost > 0; }
  // Returns 100 * with_stack / (recorded + lost). Returns 0 if both are 0, because such a profile explains nothing.
  [[nodiscard]] double percent() const;
  [[nodiscard]] bool is_full() const { return any() && with_stack >= all(); }
  [[nodiscard]] std::string percent_text() const;  // rounded down, for example "97.34%"
  [[nodiscard]] uint64_t all() const;              // recorded + lost, at most 2^64 - 1
};

// Returns how many GPU work items are missing. LOSS lines and launches without GPU work may count the same items, so
// this is the larger of both numbers, not their sum. Unknown LOSS reasons count as lost work. `losses` must sum to
// less than 2^64.
uint64_t lost_gpu_work(const std::map<std::string, uint64_t>& losses, uint64_t launches_without_record);

// Returns whether losses for this reason count as lost work.
bool is_lost_work(std::string_view reason);

// Returns how many launches one counted launch of a process stands for: `represented` / `weighted` of its COVERAGE.
// 1: the process has no weights.
double launch_scale(double represented, double weighted);

// Rounds to the nearest number. At most 9e18.
uint64_t scaled(uint64_t value, double factor);

// Adds up what the lost work of a recording with --max-overhead stands for.
class RepresentedLoss {
 public:
  struct Counts {  // COVERAGE counts of one process, and its lost work
    double matched = 0;
    double represented = 0;
    double weighted = 0;
    double lost = 0;
    double without_record = 0;
  };
  // A lost work item stands for as much as the mean matched launch of its process. If it belongs to no process
  // (`has_process` is false), it stands for as much as the mean of all processes.
  void add(const Counts& process, bool has_process);
  [[nodiscard]] uint64_t lost_gpu_work() const;  // see the function lost_gpu_work(); at most 9e18

 private:
  Counts sum_;        // scaled
  Counts elsewhere_;  // of no process, not scaled
};

uint64_t lost_samples(const std::map<std::string, uint64_t>& losses);

// Facts that explain an empty profile of a target that used a GPU.
struct EmptyFacts {
  std::string nvtx_range;      // the argument of --nvtx-range
  uint64_t outside_range = 0;  // GPU records whose launch was outside of nvtx_range
  bool attached = false;       // the target was started without gpuprof (record -p)
  bool only_a_window = false;  // recording was off during a part of the target's life
  uint64_t off_records = 0;    // GPU records while recording was off
  std::string backends;        // the argument of --backend, if it switched a backend off
};

struct EmptyReason {
  std::string reason;
  std::string hint;
};

// Returns nullopt if recording was on all the time, for all GPU work of all backends.
std::optional<EmptyReason> why_empty(const EmptyFacts& facts);

}  // namespace gpuprof::profile
