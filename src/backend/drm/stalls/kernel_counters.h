// Counts, per stream and GPU kernel, the jobs that ran the kernel. Sums the times of the jobs that ran no other
// kernel.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <tuple>

#include "backend/drm/job_join.h"

namespace gpuprof::backend::drm {

class KernelCounters {
 public:
  // `alone` says that the job ran no other kernel.
  void add(const Job& job, uint64_t start_ns, const std::string& kernel, bool alone);

  // Calls `report` with the counts of a source, as lines KEY=VALUE, and then forgets the source.
  void report(SourceId source, const std::function<void(const std::string&)>& report);

  static constexpr size_t kMaxKernels = 256;  // reported kernels per source: those with the most jobs

 private:
  struct Seen {
    uint64_t jobs = 0;
    uint64_t alone = 0;
    uint64_t alone_ns = 0;
  };
  using Where = std::tuple<uint32_t, uint64_t, std::string>;  // device, stream, kernel
  static constexpr size_t kMaxKnown = 65536;                  // counted kernels per source

  struct Source {
    std::map<Where, Seen> kernels;
    uint64_t more = 0;  // jobs with kernels that were not counted because of kMaxKnown
  };
  std::map<SourceId, Source> sources_;
};

}  // namespace gpuprof::backend::drm
