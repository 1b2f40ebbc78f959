// For each stream and GPU kernel, counts the jobs with that kernel, and sums the times of jobs without other kernels.
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
  // `alone`: the job runs no other kernel.
  void add(const Job& job, uint64_t start_ns, const std::string& kernel, bool alone);

  // Reports the counts of a source as lines KEY=VALUE, then forgets the source.
  void report(SourceId source, const std::function<void(const std::string&)>& report);

  static constexpr size_t kMaxKernels = 256;  // limit of reported kernels per source: those with the most jobs

 private:
  struct Seen {
    uint64_t jobs = 0;
    uint64_t alone = 0;
    uint64_t alone_ns = 0;
  };
  using Where = std::tuple<uint32_t, uint64_t, std::string>;  // device, stream, kernel
  static constexpr size_t kMaxKnown = 65536;                  // limit of counted kernels per source

  struct Source {
    std::map<Where, Seen> kernels;
    uint64_t more = 0;  // jobs with kernels beyond kMaxKnown
  };
  std::map<SourceId, Source> sources_;
};

}  // namespace gpuprof::backend::drm
