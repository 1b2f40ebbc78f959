#include "analyze/rows/no_work.h"

#include "analyze/subsets/subset_meta.h"
#include "base/text/hints.h"
#include "base/text/numbers.h"
#include "profile/coverage.h"

namespace gpuprof::analyze {

Error no_work(const ProfileInfo& info, const std::string& name, int exit_code) {
  const std::string text = name + " holds no GPU work";
  if (!part_text(info.meta).empty()) {
    return {text, "it is a subset of a profile: look for GPU work in the complete profile", exit_code};
  }
  const auto value = [&info](const char* key) {
    const auto found = info.meta.find(key);
    return found == info.meta.end() ? std::string() : found->second;
  };
  const uint64_t outside = info.counted(profile::CoverageCount::outside_range);
  const uint64_t off = whole_number(value("gpu_records.while_off")).value_or(0);
  const auto why = profile::why_empty({.nvtx_range = value("nvtx_range"),
                                       .outside_range = outside,
                                       .attached = recording_window(info.meta).starts_with("-p "),
                                       .only_a_window = !recording_window(info.meta).empty(),
                                       .off_records = off,
                                       .backends = value("recording.backends")});
  if (!info.complete) {
    return {text, "it is cut short, perhaps before its first GPU work: copy or record it again", exit_code};
  }
  if (info.launches > 0 || !info.losses.empty()) {
    return {text, "`gpuprof report` shows what this recording saw and missed", exit_code};
  }
  if (!why) {
    return {text, hints::kAskDoctor, exit_code};
  }
  const bool used_gpu = outside > 0 || off > 0;  // otherwise, it may have used no GPU that gpuprof can record
  return {text + ": " + why->reason, why->hint + (used_gpu ? "" : std::string("; ") + hints::kAskDoctor), exit_code};
}

}  // namespace gpuprof::analyze
