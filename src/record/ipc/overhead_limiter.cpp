#include "record/ipc/overhead_limiter.h"

#include <algorithm>

namespace gpuprof::record {
namespace {

// At a lower share, there would be too few stacks to extrapolate from.
constexpr uint32_t kLeastShare = GPUPROF_ALL_STACKS / 1024;
// An update needs this many timed launches (1 launch in 64 is timed). With fewer, noise dominates.
constexpr uint64_t kFewSamples = 8;
// The limiter aims for this fraction of the limit.
constexpr double kHeadroom = 0.9;
// The share at most doubles per update, so that not every launch of a sudden burst gets a stack.
constexpr double kFastest = 2;
// At the start of a recording, every launch gets a stack, because start-up launches may come only once. For this long,
// the limiter updates the share at each call. Later it updates the share every kSteadyNs.
constexpr uint64_t kSettlingNs = 2'000'000'000;
constexpr uint64_t kSteadyNs = 9 * OverheadLimiter::kIntervalNs;

}  // namespace

uint32_t OverheadLimiter::update(uint64_t launches, uint64_t samples, uint64_t sampled_ns, uint64_t now_ns) {
  if (updated_ns_ != 0 && now_ns > begun_ns_ + kSettlingNs && now_ns > updated_ns_ &&
      now_ns - updated_ns_ < kSteadyNs) {
    return share_;
  }
  if (updated_ns_ == 0 || now_ns <= updated_ns_) {
    begun_ns_ = begun_ns_ == 0 ? now_ns : begun_ns_;
    launches_ = launches;
    samples_ = samples;
    sampled_ns_ = sampled_ns;
    updated_ns_ = std::max(updated_ns_, now_ns);
    return share_;
  }
  // The target writes these counters. If a counter has decreased, its growth counts as 0.
  const uint64_t new_samples = samples > samples_ ? samples - samples_ : 0;
  const uint64_t new_launches = launches > launches_ ? launches - launches_ : 0;
  const uint64_t new_ns = sampled_ns > sampled_ns_ ? sampled_ns - sampled_ns_ : 0;
  if (new_samples < kFewSamples && new_launches > 0 && now_ns - updated_ns_ < 60'000'000'000) {
    return share_;
  }
  const double per_launch = new_samples == 0 ? 0 : static_cast<double>(new_ns) / static_cast<double>(new_samples);
  const double cost = per_launch * static_cast<double>(new_launches) / static_cast<double>(now_ns - updated_ns_);
  launches_ = launches;
  samples_ = samples;
  sampled_ns_ = sampled_ns;
  updated_ns_ = now_ns;
  if (allowed_ <= 0) {
    return share_;
  }
  // Computed before share_ changes, because `cost` was measured with the old share.
  exceeded_ = share_ == kLeastShare && cost > allowed_;
  double factor = kFastest;
  if (cost > 0) {
    factor = std::min(kHeadroom * allowed_ / cost, kFastest);
  }
  // If the cost is between kHeadroom * limit and the limit, the share stays the same. This avoids oscillation.
  if (factor < 1 && cost <= allowed_) {
    factor = 1;
  }
  share_ = static_cast<uint32_t>(std::clamp(static_cast<double>(share_) * factor, static_cast<double>(kLeastShare),
                                            static_cast<double>(GPUPROF_ALL_STACKS)));
  return share_;
}

}  // namespace gpuprof::record
