#include "record/duty_cycle.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <vector>

#include "catch.h"

using gpuprof::record::DutyCycle;

namespace {

constexpr uint64_t kDutyMs = 1'000'000;
constexpr uint64_t kDutySecond = 1000 * kDutyMs;
constexpr uint64_t kDutyStart = 7 * kDutySecond;

// How long a program was active until this time.
using ActiveUntil = std::function<double(uint64_t)>;

double always(uint64_t now) {
  return static_cast<double>(now);
}

// Active in the first `active_ns` of each period.
ActiveUntil periodic(uint64_t period_ns, uint64_t active_ns) {
  return [=](uint64_t now) {
    return static_cast<double>(now / period_ns * active_ns + std::min(now % period_ns, active_ns));
  };
}

double once(uint64_t now) {
  return static_cast<double>(std::clamp(now, 17 * kDutySecond, 18 * kDutySecond));
}

struct DutyRun {
  std::vector<gpuprof::profile::Window> windows;
  double on_ns = 0;
  double cost_ns = 0;
};

// Records a program. While recording is on, each nanosecond of activity costs `cost` ns.
DutyRun recorded(double percent, uint64_t seed, uint64_t duration_ns, double cost, const ActiveUntil& active = always) {
  DutyCycle duty(percent, seed, kDutyStart);
  DutyRun run;
  run.windows.push_back(duty.window());
  uint64_t now = kDutyStart;
  while (now < kDutyStart + duration_ns) {
    const uint64_t next = std::min(duty.next_ns(), kDutyStart + duration_ns);
    run.on_ns += duty.on() ? static_cast<double>(next - now) : 0;
    run.cost_ns += duty.on() ? cost * (active(next) - active(now)) : 0;
    now = next;
    duty.update(now, {.calls_ns = static_cast<uint64_t>(run.cost_ns)});
    if (duty.on() && run.windows.back() != duty.window()) {
      run.windows.push_back(duty.window());
    }
  }
  return run;
}

// Returns the estimate of how long the program was active.
double estimate(const DutyRun& run, uint64_t duration_ns, const ActiveUntil& active) {
  double sum = 0;
  for (const gpuprof::profile::Window& window : run.windows) {
    const uint64_t end = std::min(window.end_ns, kDutyStart + duration_ns);
    sum += end > window.start_ns ? static_cast<double>(window.weight) * (active(end) - active(window.start_ns)) : 0;
  }
  return sum;
}

}  // namespace

TEST_CASE("without cost everything is recorded") {
  const DutyRun all = recorded(1, 1, 10 * kDutySecond, 0);
  CHECK(all.on_ns == 10e9);
  for (size_t i = 1; i < all.windows.size(); ++i) {
    REQUIRE(all.windows[i].weight == 1);
    REQUIRE(all.windows[i].start_ns == all.windows[i - 1].end_ns);
  }
}

TEST_CASE("the cost stays within the limit") {
  for (const double percent : {1.0, 2.0, 5.0}) {
    for (uint64_t seed = 1; seed <= 20; ++seed) {
      CHECK(recorded(percent, seed, 60 * kDutySecond, 0.3).cost_ns <= percent / 100 * 60e9);
    }
  }
}

struct LaunchRun {
  double cost = 0;  // share of the time that recording costs
  int windows = 0;
};

// Records a program that launches all the time, but hardly in its first `slow_start_ns`. While it is recorded, each ns
// of its launches costs it `calls` ns in gpuprof's code and `vendor` ns that gpuprof cannot measure.
LaunchRun record_launches(double percent, uint64_t seed, double calls, double vendor, bool reports_times,
                          uint64_t slow_start_ns = 0) {
  LaunchRun run;
  DutyCycle duty(percent, seed, kDutyStart);
  gpuprof::record::DutyCost cost;
  gpuprof::record::DutyCost late;  // what a target reports at the end of the next window
  double lost_ns = 0;
  uint64_t now = kDutyStart;
  while (now < kDutyStart + 60 * kDutySecond) {
    const uint64_t next = duty.next_ns();
    const double active = now < kDutyStart + slow_start_ns ? 0.02 : 1;
    const auto ns = active * static_cast<double>(next - now);
    const double own_ns = duty.on() ? ns / (1 + calls + vendor) : ns;
    (duty.on() ? cost.recorded : late.passed) += static_cast<uint64_t>(own_ns / 5000);
    (duty.on() ? cost.recorded_ns : late.passed_ns) += next - now;
    cost.calls_ns += duty.on() ? static_cast<uint64_t>(own_ns * calls) : 0;
    lost_ns += ns - own_ns;
    const bool was_on = duty.on();
    now = next;
    duty.update(now, reports_times ? cost
                                   : gpuprof::record::DutyCost{
                                         .calls_ns = cost.calls_ns, .recorded = cost.recorded, .passed = late.passed});
    if (was_on && !duty.on()) {
      ++run.windows;
      cost.passed = late.passed;
      cost.passed_ns = late.passed_ns;
    }
  }
  run.cost = lost_ns / static_cast<double>(now - kDutyStart);
  return run;
}

TEST_CASE("the limit includes what only the rate of launches shows") {
  for (const bool reports_times : {false, true}) {
    for (const double percent : {1.0, 2.0, 5.0}) {
      for (const auto& [calls, vendor] : {std::pair(0.1, 0.3), std::pair(0.02, 0.3)}) {  // launches, replays of graphs
        double sum = 0;
        for (uint64_t seed = 1; seed <= 20; ++seed) {
          sum += record_launches(percent, seed, calls, vendor, reports_times).cost;
        }
        CHECK(sum / 20 <= percent / 100);
        CHECK(sum / 20 >= percent / 200);
      }
    }
    CHECK(record_launches(20, 1, 0.1, 0.3, reports_times).cost <= 0.2);  // the code of gpuprof alone is below the limit
  }
}

TEST_CASE("a slow start of the program does not take windows away from the rest") {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    const LaunchRun usual = record_launches(2, seed, 0.1, 0.3, true);
    const LaunchRun slow = record_launches(2, seed, 0.1, 0.3, true, 2 * kDutySecond);
    CHECK(slow.windows >= usual.windows / 2);
  }
}

TEST_CASE("the cost of bursts stays within the limit") {
  double sum = 0;
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    sum += recorded(2, seed, 120 * kDutySecond, 0.4, periodic(5 * kDutySecond, kDutySecond)).cost_ns;
  }
  CHECK(sum / 20 <= 0.02 * 120e9);
}

TEST_CASE("estimates have no bias, also for a program in step with the windows") {
  constexpr uint64_t kDuration = 20 * kDutySecond;
  constexpr int kSeeds = 2000;
  for (const ActiveUntil& program : {ActiveUntil(always), periodic(100 * kDutyMs, 50 * kDutyMs), ActiveUntil(once)}) {
    const double truth = program(kDutyStart + kDuration) - program(kDutyStart);
    double sum = 0;
    double squares = 0;
    for (uint64_t seed = 1; seed <= kSeeds; ++seed) {
      const double value = estimate(recorded(2, seed, kDuration, 0.2), kDuration, program);
      sum += value;
      squares += value * value;
    }
    const double mean = sum / kSeeds;
    const double error = std::sqrt((squares / kSeeds - mean * mean) / kSeeds);
    CHECK(error < 0.02 * truth);
    CHECK(std::abs(mean - truth) <= 4 * error);
  }
}

TEST_CASE("a window begins late if recording is switched on late") {
  DutyCycle duty(1, 3, kDutyStart);
  duty.update(duty.next_ns(), {.calls_ns = 20 * kDutyMs});
  REQUIRE_FALSE(duty.on());
  const gpuprof::profile::Window planned = duty.window();
  duty.update(duty.next_ns() + 30 * kDutyMs, {.calls_ns = 20 * kDutyMs});
  REQUIRE(duty.on());
  CHECK(duty.window() ==
        gpuprof::profile::Window{planned.start_ns + 30 * kDutyMs, planned.end_ns + 30 * kDutyMs, planned.weight});
}
