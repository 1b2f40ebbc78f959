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

// What recording has cost the targets so far, and how many launches they made.
struct DutyCost {
  uint64_t calls_ns = 0;     // gpuprof's code in the recorded launches
  uint64_t switches_ns = 0;  // handing over records, and attaching and detaching the vendor's library
  uint64_t recorded = 0;     // launches that were recorded
  uint64_t passed = 0;       // launches that were not
  // Time in which these launches were made, summed over the processes. 0: as long as recording was on and off.
  uint64_t recorded_ns = 0;
  uint64_t passed_ns = 0;

  [[nodiscard]] uint64_t measured_ns() const { return calls_ns + switches_ns; }
};

// How much slower a program launches while it is recorded. gpuprof cannot measure what the vendor's library adds to a
// launch, but this shows it. Weighs the last 32 windows most.
class Slowdown {
 public:
  // Adds a window and an interval without recording. `cost` is the growth since the last call. The window stands for
  // `weight` times its length: so the same phases of the program count on both sides.
  void add(const DutyCost& cost, double weight);
  // Returns the share of the recorded time that recording costs, from 0 to 0.95: the mean, less one standard error.
  [[nodiscard]] double share() const;
  [[nodiscard]] bool known() const { return passed_ns_ > 0; }

 private:
  double recorded_ = 0;  // weighted, like recorded_ns_
  double recorded_ns_ = 0;
  double passed_ = 0;
  double passed_ns_ = 0;
  double squares_ = 0;  // of what the windows' launches differ from the mean
};

class DutyCycle {
 public:
  // Recording is switched on this long before a window, because targets notice the switch late.
  static constexpr uint64_t kLeadNs = 30'000'000;
  static constexpr uint64_t kShortestSlotNs = 25'000'000;
  static constexpr uint64_t kLongestSlotNs = 75'000'000;
  static constexpr uint64_t kMostWeight = 1000;

  // `percent` limits the time that recording costs all threads of the targets together, relative to the elapsed time.
  // The first window begins at `now_ns`. `before` is what an earlier recording has cost.
  DutyCycle(double percent, uint64_t seed, uint64_t now_ns, const DutyCost& before = {});

  // Call it at next_ns() or as soon as possible thereafter.
  void update(uint64_t now_ns, const DutyCost& cost);
  // Whether targets record now.
  [[nodiscard]] bool on() const { return on_; }
  // The window that is on, or the next one.
  [[nodiscard]] const profile::Window& window() const { return window_; }
  [[nodiscard]] uint64_t next_ns() const;

 private:
  void measure(uint64_t now_ns, uint64_t cost_ns);
  void measure_slowdown(uint64_t now_ns, const DutyCost& cost);
  void plan(uint64_t now_ns);

  double allowed_;
  std::mt19937_64 random_;
  profile::Window window_;
  uint64_t cycle_end_ns_;
  bool on_ = true;
  uint64_t begun_ns_;
  uint64_t on_since_ns_;  // time of the last measurement, or of switching on since then
  uint64_t spent_ns_;     // cost of earlier recordings
  uint64_t cost_ns_;      // cost at the last measurement, with that of earlier recordings
  double rate_ = 0;       // cost per time with recording
  Slowdown slowdown_;
  DutyCost before_;             // at the last call of measure_slowdown()
  uint64_t slowdown_since_ns_;  // time of that call
  uint64_t recorded_ns_ = 0;    // time with recording since then
  double weighted_ns_ = 0;      // the same, each window times its weight
  double hidden_ns_ = 0;        // cost that gpuprof cannot measure, from the slowdown
  double hidden_rate_ = 0;      // per time with recording
};

}  // namespace gpuprof::record
