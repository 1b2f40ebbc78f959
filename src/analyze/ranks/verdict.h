// What is to be said of a job: which ranks lag, by what, since when, and what they did meanwhile.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "analyze/ranks/job.h"
#include "analyze/ranks/lag.h"

namespace gpuprof::analyze {

struct Difference {   // between a rank and the median of the others, in a stretch of time
  uint32_t path = 0;  // of Job::paths()
  uint64_t ns = 0;    // of a block
  uint64_t others_ns = 0;
  uint64_t floor = 0;  // as ns, had each work always taken the least that it took in its slice
  uint64_t others_floor = 0;
  double count = 0;  // of a block
  double others_count = 0;
};

struct Laggard {
  Lag lag;  // columns are blocks of the job
  bool by_gpu =
      false;  // at least half of the lag is longer GPU work, or that is how it was found; else the CPU was late
  uint64_t gpu_ns = 0;  // GPU work of a block, without collectives, and of the others
  uint64_t others_gpu_ns = 0;
  double collective_share = 0;  // of its time
  double others_collective_share = 0;
  std::vector<Difference> kernels;  // greatest first; at most kMostDifferences each
  std::vector<Difference> idle;     // before which work the device had nothing to do
  std::vector<Difference> host;     // waits, allocations
};
constexpr size_t kMostDifferences = 3;

struct JobVerdict {
  std::vector<Laggard> laggards;  // the one that costs most first
  std::string inconclusive;       // why nothing can be said; else empty
  uint64_t first = 0;             // the blocks that were looked at, both included
  uint64_t last = 0;
  bool by_collectives = false;  // else by GPU time alone: whether others wait is not known
};

JobVerdict judge_job(const Job& job, const LagOptions& options);

}  // namespace gpuprof::analyze
