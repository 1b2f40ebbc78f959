// How often each kernel was in the jobs of each stream, and how long the jobs took that ran nothing else. No device, no
// clock.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <tuple>

#include "backend/drm/job_join.h"

namespace gpuprof::backend::drm {

class KernelTally {
 public:
  // `alone`: nothing else is in the job.
  void add(const Job& job, uint64_t start_ns, const std::string& kernel, bool alone);

  // Tells what is known of a source as lines KEY=VALUE, and forgets it.
  void tell(SourceId source, const std::function<void(const std::string&)>& tell);

  static constexpr size_t kMaxKernels = 256;  // that are told of each source: those in most jobs

 private:
  struct Seen {
    uint64_t jobs = 0;
    uint64_t alone = 0;
    uint64_t alone_ns = 0;
  };
  using Where = std::tuple<uint32_t, uint64_t, std::string>;  // device, stream, kernel
  static constexpr size_t kMaxKnown = 65536;                  // of a source

  struct Source {
    std::map<Where, Seen> kernels;
    uint64_t more = 0;  // in how many jobs those were that there was no room for
  };
  std::map<SourceId, Source> sources_;
};

}  // namespace gpuprof::backend::drm
