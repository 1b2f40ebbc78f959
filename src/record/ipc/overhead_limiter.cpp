#include "record/ipc/overhead_limiter.h"

#include <algorithm>

namespace gpuprof::record {
namespace {

constexpr uint32_t kLeastShare = GPUPROF_ALL_STACKS / 1024;  // some stacks are needed to scale from
constexpr uint64_t kFewSamples = 8;  // one launch in 64 is timed: fewer say nothing, and such a rate costs nothing
constexpr double kHeadroom = 0.9;    // aimed at, of what is allowed
constexpr double kFastest = 2;       // a rise: a burst must not be met with all stacks at once
// At first all launches get a stack, as those of a short start-up may come only once; so the limit is kept from then on
// as soon as it is known. Later a longer look is a steadier one.
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
  // Counters that a target writes: growth counts, anything else is taken for none.
  const uint64_t new_samples = samples > samples_ ? samples - samples_ : 0;
  const uint64_t new_launches = launches > launches_ ? launches - launches_ : 0;
  const uint64_t new_ns = sampled_ns > sampled_ns_ ? sampled_ns - sampled_ns_ : 0;
  if (new_samples < kFewSamples && new_launches > 0 && now_ns - updated_ns_ < 60'000'000'000) {
    return share_;  // wait for more
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
  exceeded_ = share_ == kLeastShare && cost > allowed_;  // the cost is that of the share so far
  double factor = kFastest;
  if (cost > 0) {
    factor = std::min(kHeadroom * allowed_ / cost, kFastest);
  }
  // Between the aim and the limit all is well: a share that never rests makes no better profile.
  if (factor < 1 && cost <= allowed_) {
    factor = 1;
  }
  share_ = static_cast<uint32_t>(std::clamp(static_cast<double>(share_) * factor, static_cast<double>(kLeastShare),
                                            static_cast<double>(GPUPROF_ALL_STACKS)));
  return share_;
}

}  // namespace gpuprof::record
