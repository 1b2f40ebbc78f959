// Sums and consistency checks for Aggregate, and the scale of estimates.
#pragma once

#include <cstdint>
#include <map>

#include "analyze/rows/aggregate.h"

namespace gpuprof::analyze {

// Add with an overflow check. Return false, and leave `sum` unchanged, if the result does not fit.
inline bool add_to(uint64_t& sum, uint64_t value) {
  uint64_t next = 0;
  const bool fits = !__builtin_add_overflow(sum, value, &next);
  sum = fits ? next : sum;
  return fits;
}

inline bool add_to(Weight& sum, const Weight& weight) {
  Weight next = sum;
  if (!add_to(next.ns, weight.ns) || !add_to(next.count, weight.count) || !add_to(next.bytes, weight.bytes)) {
    return false;
  }
  sum = next;
  return true;
}

// Adds the histogram. Returns false, and leaves `row` unchanged, if a sum does not fit.
bool add_latency(const profile::Latency& r, LatencyRow& row);

// GPU records of one process.
struct GpuRecords {
  uint64_t recorded = 0;
  uint64_t with_stack = 0;
  uint64_t unsampled = 0;
};
using RecordsByProcess = std::map<profile::ProcessId, GpuRecords>;

void add_records(const profile::Work& work, uint64_t count, RecordsByProcess& records);

// Counts and sums of records outside of the window, which the rows exclude.
struct Outside {
  bool timed = false;
  profile::WorkCoverage gpu;
  RecordsByProcess by_process;  // the same records as `gpu`; only with --max-overhead
  profile::WorkCoverage launches;
  profile::WorkCoverage samples;
  uint64_t unsampled = 0;
  uint64_t estimated = 0;
  Row sums;  // sums of GPU, LAUNCH and SHARE lines
  Weight host_total;
  uint64_t idle_ns = 0;
};

// Fills the fields of ProfileInfo that are counted from rows, and the devices' busy and exclusive times.
void count_rows(Aggregate& rows, const Outside& outside);

profile::WorkCoverage covered_work(const Aggregate& rows, const Outside& outside);

bool is_merged(const profile::Tables& tables);

// Returns the time that is inside of one window or more. The windows of merged recordings may overlap.
uint64_t covered_ns(std::vector<profile::Window> windows);

// Returns the recorded time of the selected slices. Returns 0 if it is not known, such as without END.
uint64_t recorded_ns(const Aggregate& rows);

struct ObservedTime {
  uint64_t ns = 0;      // 0: not known
  uint64_t sum_ns = 0;  // sum over the recordings; more than `ns` if they overlap
};

// Returns how long the recordings of a merged profile observed a device, as a subset of that profile says. Limits it to
// the selected slices.
ObservedTime observed_time(const Aggregate& rows, profile::DeviceId device);

// Returns whether the profile was merged from several recordings, or may have been.
bool has_several_recordings(const Aggregate& rows);

// Recordings of one device that overlap count its busy and idle time more than once. Returns how much of `device_ns`,
// the sum of both, must be such time. `recorded`: recorded_ns(rows).
uint64_t doubled_ns(const Aggregate& rows, uint64_t recorded, uint64_t device_ns);

// Adds a warning for each device with such time, for outputs of that time.
void add_overlap_warnings(Aggregate& rows);

// Subtracts the records outside of the window from the sums, which were computed from all records.
void leave_out(Aggregate& rows, const Outside& outside);

// Warns if the times of a complete profile with SHARE lines are inconsistent. On each device with work, busy time must
// equal exclusive time, and busy plus idle time must equal the time of the windows.
void check_conservation(Aggregate& rows);

// Describes how the END record differs from the records before it. Returns "" if they agree.
std::string end_mismatch(const char* what, uint64_t end, uint64_t sum);

// Scales parts of a sum one after another. Each result is a rounded number, and the results add up to the scaled sum.
class ScaledParts {
 public:
  Weight next(const Weight& part, double factor);

 private:
  Weight sum_;
  Weight given_;
};

// Scales the sums of a recording with --max-overhead so that they count all launches of each process. The windows alone
// would count too few: while recording is on, the program is slower and makes fewer launches in the same time.
class LaunchScale {
 public:
  void add(const profile::Coverage& line);
  void add(const profile::Loss& line);

  // Returns how many launches one counted launch of the process stands for. 1: the profile does not say.
  [[nodiscard]] double of(profile::ProcessId process) const;
  // Returns which share of these launches is extrapolated: nothing is known of them but the rate of the launches
  // before.
  [[nodiscard]] double extrapolated(profile::ProcessId process) const;

  // Scales all rows and sums. Returns false, and does nothing, if a sum would not fit. This happens only in a forged
  // profile.
  bool apply(Aggregate& rows) const;
  // Scales the counts of GPU records, and sets `covered` and `represented_counts`.
  void apply(const RecordsByProcess& records, ProfileInfo& info) const;
  // Adds failed calls to the failures of `info`. `counts`: by position of the WORK in the tables.
  void put_failures(const std::map<uint32_t, uint64_t>& counts, const profile::Tables& tables, bool is_scaled,
                    ProfileInfo& info) const;

 private:
  struct Counts : profile::RepresentedLoss::Counts {
    double extrapolated = 0;
    double without_stack = 0;
    double without_launch = 0;
    double before_attach = 0;
  };
  [[nodiscard]] uint64_t sum_of(double Counts::*number) const;

  std::map<profile::ProcessId, Counts> processes_;
};

}  // namespace gpuprof::analyze
