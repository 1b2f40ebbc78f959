#include "record/duty_cycle.h"

#include <algorithm>
#include <cmath>

namespace gpuprof::record {
namespace {

// The plan aims for this share of the limit, because the cost varies.
constexpr double kHeadroom = 0.9;
// What was spent above the limit is saved in about this time, but no window may cost less than this share of the limit.
constexpr double kPayBackNs = 20e9;
constexpr double kLeastShare = 0.5;

}  // namespace

DutyCycle::DutyCycle(double percent, uint64_t seed, uint64_t now_ns)
    : allowed_(kHeadroom * percent / 100),
      random_(seed),
      window_{now_ns, now_ns + kShortestSlotNs, 1},
      cycle_end_ns_(window_.end_ns),
      begun_ns_(now_ns),
      on_since_ns_(now_ns) {}

uint64_t DutyCycle::next_ns() const {
  return on_ ? window_.end_ns : window_.start_ns - kLeadNs;
}

void DutyCycle::update(uint64_t now_ns, uint64_t cost_ns) {
  if (now_ns < next_ns()) {
    return;
  }
  if (!on_) {
    // If this call is late, the window and the rest of the cycle are late, too.
    const uint64_t late = now_ns - next_ns();
    window_.start_ns += late;
    window_.end_ns += late;
    cycle_end_ns_ += late;
    on_ = true;
    on_since_ns_ = now_ns;
    return;
  }
  const uint64_t window_end = window_.end_ns;
  measure(now_ns, cost_ns);
  plan(now_ns);
  on_ = window_.start_ns == window_end;  // stays on if the next window follows at once
}

// Measures what recording costs while it is on, averaged with earlier measurements.
void DutyCycle::measure(uint64_t now_ns, uint64_t cost_ns) {
  const uint64_t on_ns = now_ns - on_since_ns_;
  on_since_ns_ = now_ns;
  const uint64_t cost = cost_ns > cost_ns_ ? cost_ns - cost_ns_ : 0;
  cost_ns_ = std::max(cost_ns_, cost_ns);
  if (on_ns != 0) {
    const double rate = static_cast<double>(cost) / static_cast<double>(on_ns);
    rate_ = rate_ == 0 ? rate : (rate_ + rate) / 2;
  }
}

// Plans the cycle that follows the present one.
void DutyCycle::plan(uint64_t now_ns) {
  const uint64_t slot = std::uniform_int_distribution<uint64_t>(kShortestSlotNs, kLongestSlotNs)(random_);
  const auto elapsed = static_cast<double>(now_ns - begun_ns_);
  const double debt = std::max(0.0, static_cast<double>(cost_ns_) - allowed_ * elapsed);
  const double may_cost = std::max(allowed_ * kLeastShare, allowed_ - debt / kPayBackNs);
  double weight = 1;
  if (rate_ > may_cost) {
    const double lead = static_cast<double>(slot + kLeadNs) / static_cast<double>(slot);
    weight = std::min(std::ceil(rate_ * lead / may_cost), static_cast<double>(kMostWeight));
  }
  const auto slots = static_cast<uint64_t>(weight);
  const uint64_t chosen = std::uniform_int_distribution<uint64_t>(0, slots - 1)(random_);
  const uint64_t start = cycle_end_ns_;
  window_ = {start + chosen * slot, start + (chosen + 1) * slot, slots};
  cycle_end_ns_ = start + slots * slot;
}

}  // namespace gpuprof::record
