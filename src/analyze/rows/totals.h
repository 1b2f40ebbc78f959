// Sums of an Aggregate: what its rows come to, and whether that fits together. Internal to this folder.
#pragma once

#include "analyze/rows/aggregate.h"

namespace gpuprof::analyze {

// Where a part does not fit, `sum` keeps its value.
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

// The count of a bucket of a histogram, whose buckets ascend; made if need be.
uint64_t& count_of_bucket(std::vector<profile::Latency::Bucket>& buckets, uint32_t bucket);

// False, with `row` as it was, where a sum does not fit.
bool add_latency(const profile::Latency& r, LatencyRow& row);

// What the profile holds in slices outside of the window, and so has no rows.
struct Outside {
  bool timed = false;  // there are GPU lines
  profile::WorkCoverage gpu;
  profile::WorkCoverage launches;
  profile::WorkCoverage samples;
  uint64_t unsampled = 0;
  uint64_t estimated = 0;
  Row sums;  // of GPU, LAUNCH and SHARE lines
  Weight host_total;
  uint64_t idle_ns = 0;
};

// Fills what of ProfileInfo is counted from rows (the kind, launches, gpu_records, with_stack, unsampled), and busy
// and exclusive times of devices.
void count_rows(Aggregate& rows, const Outside& outside);

// As ProfileInfo says.
profile::WorkCoverage covered_work(const Aggregate& rows, const Outside& outside);

// Makes the sums, which were of all lines, those of the rows.
void leave_out(Aggregate& rows, const Outside& outside);

// Warns where the times of a whole profile with SHARE lines do not add up: on each device with work, all that is busy
// must be exclusive, and busy and idle time must make up the windows.
void check_conservation(Aggregate& rows);

// What to say where the END record counts something else than the records before it; empty where they agree.
std::string end_mismatch(const char* what, uint64_t end, uint64_t sum);

}  // namespace gpuprof::analyze
