#include "record/ipc/overhead_limiter.h"

#include <cmath>

#include "catch.h"

namespace {

using gpuprof::record::OverheadLimiter;

// A target with `rate` launches per second. A launch takes `bare_ns`, and `stack_ns` more if it has a stack.
struct Target {
  double rate;
  double bare_ns;
  double stack_ns;
  double launches = 0;
  double samples = 0;
  double ns = 0;

  // Returns the fraction of a second that launches cost at the current share of stacks.
  [[nodiscard]] double cost(const OverheadLimiter& budget) const { return rate * launch_ns(budget) / 1e9; }

  [[nodiscard]] double launch_ns(const OverheadLimiter& budget) const {
    return bare_ns + static_cast<double>(budget.share()) / GPUPROF_ALL_STACKS * stack_ns;
  }

  void second(OverheadLimiter& budget, uint64_t now) { go_on(budget, now, 1); }

  void go_on(OverheadLimiter& budget, uint64_t now, double seconds) {
    launches += rate * seconds;
    samples += rate * seconds / 64;
    ns += rate * seconds / 64 * launch_ns(budget);
    budget.update(static_cast<uint64_t>(launches), static_cast<uint64_t>(samples), static_cast<uint64_t>(ns), now);
  }
};

constexpr uint64_t kLimiterSecond = 1'000'000'000;

}  // namespace

TEST_CASE("the share falls until the cost is within the budget, but not much further") {
  OverheadLimiter budget(5);
  Target target{.rate = 100'000, .bare_ns = 100, .stack_ns = 1900};
  for (uint64_t s = 1; s < 20; ++s) {
    target.second(budget, s * kLimiterSecond);
  }
  REQUIRE(target.cost(budget) <= 0.05);
  REQUIRE(target.cost(budget) >= 0.035);
  REQUIRE(budget.share() < GPUPROF_ALL_STACKS / 4);
  REQUIRE_FALSE(budget.exceeded());
}

TEST_CASE("the limit is kept after a few tenths of a second, and the share is stable then") {
  OverheadLimiter budget(5);
  Target target{.rate = 100'000, .bare_ns = 100, .stack_ns = 1900};
  uint64_t now = kLimiterSecond;
  for (int i = 0; i < 4; ++i) {
    target.go_on(budget, now += OverheadLimiter::kIntervalNs, 0.1);
  }
  REQUIRE(target.cost(budget) <= 0.05);
  const uint32_t settled = budget.share();
  REQUIRE(settled < GPUPROF_ALL_STACKS / 4);
  int changes = 0;
  for (int i = 0; i < 100; ++i) {
    const uint32_t before = budget.share();
    target.go_on(budget, now += OverheadLimiter::kIntervalNs, 0.1);
    changes += budget.share() != before ? 1 : 0;
    REQUIRE(target.cost(budget) <= 0.055);
  }
  REQUIRE(changes <= 12);
}

TEST_CASE("a target with few launches keeps all stacks, and regains them after a burst") {
  OverheadLimiter budget(5);
  Target target{.rate = 200'000, .bare_ns = 100, .stack_ns = 1900};
  for (uint64_t s = 1; s < 10; ++s) {
    target.second(budget, s * kLimiterSecond);
  }
  REQUIRE(budget.share() < GPUPROF_ALL_STACKS / 8);
  target.rate = 5'000;
  for (uint64_t s = 10; s < 30; ++s) {
    target.second(budget, s * kLimiterSecond);
  }
  REQUIRE(budget.share() == GPUPROF_ALL_STACKS);
}

TEST_CASE("a budget that no share can meet is reported as exceeded") {
  OverheadLimiter budget(0.1);
  Target target{.rate = 500'000, .bare_ns = 200, .stack_ns = 1000};
  for (uint64_t s = 1; s < 40; ++s) {
    target.second(budget, s * kLimiterSecond);
  }
  REQUIRE(budget.share() > 0);  // extrapolation needs some stacks
  REQUIRE(budget.share() < GPUPROF_ALL_STACKS / 100);
  REQUIRE(budget.exceeded());
}

TEST_CASE("the cost of all stacks does not predict the cost of the fewest") {
  OverheadLimiter budget(0.01);
  budget.update(0, 0, 0, kLimiterSecond);
  budget.update(640'000, 10'000, 10'000 * 1000, 2 * kLimiterSecond);  // launches with stacks cost 64% of the time
  const uint32_t fewest = budget.share();
  REQUIRE(fewest < GPUPROF_ALL_STACKS / 100);
  REQUIRE_FALSE(budget.exceeded());
  budget.update(1'280'000, 20'000, 10'000 * 1000 + 10'000, 3 * kLimiterSecond);  // launches cost 0.064% of the time
  REQUIRE(budget.share() == fewest);
  REQUIRE(budget.exceeded());
}

TEST_CASE("decreasing counters and unchanged times have no effect") {
  OverheadLimiter budget(5);
  budget.update(1000, 100, 1'000'000, kLimiterSecond);
  budget.update(2000, 200, 2'000'000, kLimiterSecond);
  REQUIRE(budget.share() == GPUPROF_ALL_STACKS);
  budget.update(10, 1, 5, 2 * kLimiterSecond);
  REQUIRE(budget.share() == GPUPROF_ALL_STACKS);
}

TEST_CASE("without a limit every launch keeps its stack") {
  OverheadLimiter budget(0);
  Target target{.rate = 900'000, .bare_ns = 500, .stack_ns = 5000};
  for (uint64_t s = 1; s < 5; ++s) {
    target.second(budget, s * kLimiterSecond);
  }
  REQUIRE(budget.share() == GPUPROF_ALL_STACKS);
}
