#include "backend/drm/stalls/kernel_counters.h"

#include <algorithm>
#include <vector>

namespace gpuprof::backend::drm {

void KernelCounters::add(const Job& job, uint64_t start_ns, const std::string& kernel, bool alone) {
  Source& source = sources_[job.source];
  const Where where{job.device, job.stream, kernel};
  if (source.kernels.size() >= kMaxKnown && !source.kernels.contains(where)) {
    ++source.more;
    return;
  }
  Seen& seen = source.kernels[where];
  ++seen.jobs;
  if (alone) {
    ++seen.alone;
    seen.alone_ns += job.done_ns > start_ns ? job.done_ns - start_ns : 0;
  }
}

void KernelCounters::report(SourceId source, const std::function<void(const std::string&)>& report) {
  const auto known = sources_.find(source);
  if (known == sources_.end()) {
    return;
  }
  std::vector<std::pair<Where, Seen>> all(known->second.kernels.begin(), known->second.kernels.end());
  std::stable_sort(all.begin(), all.end(), [](const auto& a, const auto& b) { return a.second.jobs > b.second.jobs; });
  uint64_t more = known->second.more;
  for (size_t i = 0; i < all.size(); ++i) {
    const auto& [where, seen] = all[i];
    const auto& [device, stream, kernel] = where;
    if (i >= kMaxKernels) {
      more += seen.jobs;
      continue;
    }
    std::string text = "drm.kernel" + std::to_string(i) + "=" + kernel + ", device " + std::to_string(device) +
                       ", stream " + std::to_string(stream) + ", jobs " + std::to_string(seen.jobs);
    if (seen.alone != 0) {
      text += ", alone in " + std::to_string(seen.alone) + " for " + std::to_string(seen.alone_ns) + " ns";
    }
    report(text);
  }
  if (more != 0) {
    report("drm.kernels_not_listed=" + std::to_string(more));
  }
  sources_.erase(known);
}

}  // namespace gpuprof::backend::drm
