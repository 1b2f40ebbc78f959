#include "record/duty_cycle.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace gpuprof::record {
namespace {

// The plan aims for this share of the limit, because the cost varies.
constexpr double kHeadroom = 0.9;
// What was spent above the limit is saved in about this time, but no window may cost less than this share of the limit.
constexpr double kPayBackNs = 20e9;
constexpr double kLeastShare = 0.5;
// How much of the sums of Slowdown remains when a window is added.
constexpr double kRemains = 1 - 1.0 / 32;
constexpr double kMostSlowdown = 0.95;
// The vendor's library may cost this many times as much as gpuprof's code, or this share of the time with recording: a
// JAX step that replays one graph of 40 nodes takes 22% longer, and gpuprof's code 3%.
constexpr double kMostHidden = 4;
constexpr double kMostHiddenShare = 0.5;

uint64_t grown(uint64_t now, uint64_t before) {
  return now > before ? now - before : 0;
}

}  // namespace

void Slowdown::add(const DutyCost& cost, double weight) {
  const double recorded = weight * static_cast<double>(cost.recorded);
  const double recorded_ns = weight * static_cast<double>(cost.recorded_ns);
  recorded_ = recorded_ * kRemains + recorded;
  recorded_ns_ = recorded_ns_ * kRemains + recorded_ns;
  passed_ = passed_ * kRemains + static_cast<double>(cost.passed);
  passed_ns_ = passed_ns_ * kRemains + static_cast<double>(cost.passed_ns);
  const double differs = recorded_ns_ == 0 ? 0 : recorded - recorded_ / recorded_ns_ * recorded_ns;
  squares_ = squares_ * kRemains + differs * differs;
}

double Slowdown::share() const {
  if (recorded_ns_ == 0 || passed_ns_ == 0 || passed_ == 0) {
    return 0;
  }
  const double usual = passed_ / passed_ns_ * recorded_ns_;  // launches in the same time without recording
  return std::clamp(1 - (recorded_ + std::sqrt(squares_)) / usual, 0.0, kMostSlowdown);
}

DutyCycle::DutyCycle(double percent, uint64_t seed, uint64_t now_ns, const DutyCost& before)
    : allowed_(kHeadroom * percent / 100),
      random_(seed),
      window_{now_ns, now_ns + kShortestSlotNs, 1},
      cycle_end_ns_(window_.end_ns),
      begun_ns_(now_ns),
      on_since_ns_(now_ns),
      spent_ns_(before.measured_ns()),
      cost_ns_(spent_ns_),
      before_(before),
      slowdown_since_ns_(now_ns) {}

uint64_t DutyCycle::next_ns() const {
  return on_ ? window_.end_ns : window_.start_ns - kLeadNs;
}

void DutyCycle::update(uint64_t now_ns, const DutyCost& cost) {
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
    measure_slowdown(now_ns, cost);
    return;
  }
  const uint64_t window_end = window_.end_ns;
  measure(now_ns, cost.measured_ns());
  plan(now_ns);
  on_ = window_.start_ns == window_end;  // stays on if the next window follows at once
}

// Measures what recording costs while it is on, averaged with earlier measurements.
void DutyCycle::measure(uint64_t now_ns, uint64_t cost_ns) {
  const uint64_t on_ns = now_ns - on_since_ns_;
  on_since_ns_ = now_ns;
  recorded_ns_ += on_ns;
  weighted_ns_ += static_cast<double>(on_ns * window_.weight);
  const uint64_t cost = grown(cost_ns, cost_ns_);
  cost_ns_ = std::max(cost_ns_, cost_ns);
  if (on_ns != 0) {
    const double rate = static_cast<double>(cost) / static_cast<double>(on_ns);
    rate_ = rate_ == 0 ? rate : (rate_ + rate) / 2;
  }
}

// Call it when all is known of the last window: some targets report its launches only afterwards.
void DutyCycle::measure_slowdown(uint64_t now_ns, const DutyCost& cost) {
  const uint64_t on_ns = std::exchange(recorded_ns_, 0);
  const double weighted_ns = std::exchange(weighted_ns_, 0);
  const uint64_t all_ns = now_ns - std::exchange(slowdown_since_ns_, now_ns);
  DutyCost grew{.calls_ns = grown(cost.calls_ns, before_.calls_ns),
                .switches_ns = grown(cost.switches_ns, before_.switches_ns),
                .recorded = grown(cost.recorded, before_.recorded),
                .passed = grown(cost.passed, before_.passed),
                .recorded_ns = grown(cost.recorded_ns, before_.recorded_ns),
                .passed_ns = grown(cost.passed_ns, before_.passed_ns)};
  before_ = cost;
  if (cost.recorded_ns == 0) {
    grew.recorded_ns = on_ns;
    grew.passed_ns = grown(all_ns, on_ns);
  }
  slowdown_.add(grew, weighted_ns / std::max(1.0, static_cast<double>(on_ns)));
  const double costs = slowdown_.share() * static_cast<double>(grew.recorded_ns);
  // In a program that starts slowly, the first windows may look slowed down although they are not.
  const double most =
      std::max(kMostHidden * static_cast<double>(grew.measured_ns()), kMostHiddenShare * static_cast<double>(on_ns));
  const double hidden = std::clamp(costs - static_cast<double>(grew.calls_ns), 0.0, most);
  hidden_ns_ += hidden;
  if (on_ns != 0) {
    const double rate = hidden / static_cast<double>(on_ns);
    hidden_rate_ = hidden_rate_ == 0 ? rate : (hidden_rate_ + rate) / 2;
  }
}

// Plans the cycle that follows the present one.
void DutyCycle::plan(uint64_t now_ns) {
  const uint64_t slot = std::uniform_int_distribution<uint64_t>(kShortestSlotNs, kLongestSlotNs)(random_);
  const auto elapsed = static_cast<double>(now_ns - begun_ns_);
  const double debt = std::max(0.0, static_cast<double>(cost_ns_ - spent_ns_) + hidden_ns_ - allowed_ * elapsed);
  const double may_cost = std::max(allowed_ * kLeastShare, allowed_ - debt / kPayBackNs);
  const double rate = rate_ + hidden_rate_;
  double weight = 1;
  if (rate > may_cost) {
    const double lead = static_cast<double>(slot + kLeadNs) / static_cast<double>(slot);
    weight = std::min(std::ceil(rate * lead / may_cost), static_cast<double>(kMostWeight));
  }
  if (weight == 1 && !slowdown_.known() && rate * kMostHidden > may_cost) {
    weight = 2;  // only time without recording shows what recording costs
  }
  const auto slots = static_cast<uint64_t>(weight);
  const uint64_t chosen = std::uniform_int_distribution<uint64_t>(0, slots - 1)(random_);
  const uint64_t start = cycle_end_ns_;
  window_ = {start + chosen * slot, start + (chosen + 1) * slot, slots};
  cycle_end_ns_ = start + slots * slot;
}

}  // namespace gpuprof::record
