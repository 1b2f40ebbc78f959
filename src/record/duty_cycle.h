// Plans when a recording with --max-overhead is on, so that it costs the targets a limited share of the time.
//
// Time is divided into cycles of `weight` slots of equal, random length. One slot of each cycle, chosen at random, is
// the window: only calls in it are recorded, and each of them counts `weight` times. So each moment of the run is
// recorded with the probability 1/weight, and the weighted sums estimate those of the whole run without bias. The
// weight of a cycle depends only on what was measured before the cycle. With the weight 1, all is recorded.
#pragma once

#include <cstdint>
#include <random>

#include "profile/records.h"

namespace gpuprof::record {

class DutyCycle {
 public:
  // Recording is switched on this long before a window, because targets notice the switch late.
  static constexpr uint64_t kLeadNs = 30'000'000;
  static constexpr uint64_t kShortestSlotNs = 25'000'000;
  static constexpr uint64_t kLongestSlotNs = 75'000'000;
  static constexpr uint64_t kMostWeight = 1000;

  // `percent` limits the time that recording costs all threads of the targets together, relative to the elapsed time.
  // The first window begins at `now_ns`.
  DutyCycle(double percent, uint64_t seed, uint64_t now_ns);

  // Call it at next_ns() or as soon as possible thereafter. `cost_ns` is what recording has cost the targets so far.
  void update(uint64_t now_ns, uint64_t cost_ns);
  // Whether targets record now.
  [[nodiscard]] bool on() const { return on_; }
  // The window that is on, or the next one.
  [[nodiscard]] const profile::Window& window() const { return window_; }
  [[nodiscard]] uint64_t next_ns() const;

 private:
  void measure(uint64_t now_ns, uint64_t cost_ns);
  void plan(uint64_t now_ns);

  double allowed_;
  std::mt19937_64 random_;
  profile::Window window_;
  uint64_t cycle_end_ns_;
  bool on_ = true;
  uint64_t begun_ns_;
  uint64_t on_since_ns_;  // time of the last measurement, or of switching on since then
  uint64_t cost_ns_ = 0;  // cost at the last measurement
  double rate_ = 0;       // cost per time with recording
};

}  // namespace gpuprof::record
