// Judges a parallel job: which ranks lag, by how much, since when, and what they did during the lag.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "analyze/ranks/cpu_cause.h"
#include "analyze/ranks/job.h"
#include "analyze/ranks/lag.h"

namespace gpuprof::analyze {

struct Difference {  // how a path's sums differ between a rank and the median of the others, in an interval
  uint32_t path = 0;
  uint64_t ns = 0;  // time of the rank per block
  uint64_t others_ns = 0;
  uint64_t floor = 0;  // like `ns`, but counts each work item with the shortest time of its kind in its slice
  uint64_t others_floor = 0;
  double count = 0;  // number of work items or calls per block
  double others_count = 0;
};

struct LaggingRank {
  Lag lag;  // the lag's columns are blocks of the job
  // True: GPU work makes up at least half of the lag, or the lag was found by comparing GPU work (lag.by_work). False:
  // the CPU was late.
  bool by_gpu = false;
  uint64_t gpu_ns = 0;  // GPU work per block without collectives
  uint64_t others_gpu_ns = 0;
  double collective_share = 0;
  double others_collective_share = 0;
  std::vector<Difference> kernels;  // greatest first; each list has at most kMostDifferences
  std::vector<Difference> idle;     // time in which the device was idle until these work items were launched
  std::vector<Difference> host;     // waits and allocations of the CPU
  std::vector<CpuCause> cpu;        // what CPU samples say, greatest difference first
};
constexpr size_t kMostDifferences = 3;

struct JobVerdict {
  std::vector<LaggingRank> laggards;  // the most expensive one first
  std::string inconclusive;           // why no verdict is possible; otherwise empty
  uint64_t first = 0;                 // first and last block that the verdict judges
  uint64_t last = 0;
  // True: judged by the time outside collectives. False: judged only by GPU time, which does not show whether others
  // wait.
  bool by_collectives = false;
};

JobVerdict judge_job(Job& job, const LagOptions& options);

}  // namespace gpuprof::analyze
