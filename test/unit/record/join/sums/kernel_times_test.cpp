#include "record/join/sums/kernel_times.h"

#include "catch.h"
#include "join_rig.h"

using gpuprof::profile::WorkId;
using gpuprof::record::JoinContext;
using gpuprof::record::KernelKey;
using gpuprof::record::KernelShare;
using gpuprof::record::KernelTimes;
using gpuprof::test::Rig;

namespace {

constexpr uint64_t kMs = 1'000'000;
constexpr KernelKey kKernel{1, 0, 5};

uint64_t ns_of(const std::vector<KernelShare>& shares, uint32_t work) {
  uint64_t ns = 0;
  for (const KernelShare& share : shares) {
    ns += share.work == WorkId{work} ? share.ns : 0;
  }
  return ns;
}

}  // namespace

TEST_CASE("each work of a kernel has its measured time within a window") {
  JoinContext join(Rig::with_defaults({}));
  KernelTimes times(join);
  // 100 short runs of work 1, 25 of work 2, and one run of another kernel. KernelTimes merges runs of one work that
  // start in the same 10 ms.
  for (uint64_t i = 0; i < 100; ++i) {
    times.add(kKernel, WorkId{1}, true, i * kMs, i * kMs + 400'000);
    if (i % 4 == 0) {
      times.add(kKernel, WorkId{2}, false, i * kMs + 500'000, i * kMs + 900'000);
    }
  }
  times.add({1, 0, 6}, WorkId{3}, true, 0, kMs);
  const auto shares = times.within(kKernel, 0, 1000 * kMs);
  CHECK(shares.size() == 2);
  CHECK(ns_of(shares, 1) == 40 * kMs);
  CHECK(ns_of(shares, 2) == 10 * kMs);
  CHECK(times.size() < 25);  // fewer entries than launches
  CHECK(times.within({1, 1, 5}, 0, 1000 * kMs).empty());
  CHECK(times.within({2, 0, 5}, 0, 1000 * kMs).empty());
}

TEST_CASE("a kernel that crosses the edge of a window counts by its part inside") {
  JoinContext join(Rig::with_defaults({}));
  KernelTimes times(join);
  times.add(kKernel, WorkId{1}, true, 0, 1000 * kMs);
  times.add(kKernel, WorkId{2}, true, 900 * kMs, 901 * kMs);
  CHECK(ns_of(times.within(kKernel, 500 * kMs, 600 * kMs), 1) == 100 * kMs);
  CHECK(ns_of(times.within(kKernel, 800 * kMs, 2000 * kMs), 1) == 200 * kMs);
  CHECK(ns_of(times.within(kKernel, 800 * kMs, 2000 * kMs), 2) == 1 * kMs);
  CHECK(times.within(kKernel, 1000 * kMs, 2000 * kMs).empty());  // a run that ends as the window begins is not in it
}

TEST_CASE("a lookup compares only runs near its window") {
  JoinContext join(Rig::with_defaults({}));
  KernelTimes times(join);
  for (uint64_t i = 1; i <= 1000; ++i) {
    times.add(kKernel, WorkId{1}, true, i * 10 * kMs, i * 10 * kMs + 5000);
  }
  CHECK(ns_of(times.within(kKernel, 5000 * kMs, 5001 * kMs), 1) == 5000);
  CHECK(times.before(kKernel, 5000 * kMs).front().at_ns == 4990 * kMs + 5000);
  CHECK(times.before(kKernel, UINT64_MAX).front().at_ns == 10'000 * kMs + 5000);
  CHECK(times.before(kKernel, 10 * kMs).empty());
  CHECK(join.compared < 20);
}

TEST_CASE("late samples use the last run of their kernel") {
  JoinContext join(Rig::with_defaults({}));
  KernelTimes times(join);
  times.add(kKernel, WorkId{1}, true, 100 * kMs, 101 * kMs);
  times.add(kKernel, WorkId{2}, true, 500 * kMs, 501 * kMs);
  times.add(kKernel, WorkId{3}, true, 900 * kMs, 901 * kMs);
  const auto last = times.before(kKernel, 800 * kMs);
  REQUIRE(last.size() == 1);
  CHECK(last[0].work == WorkId{2});
  CHECK(last[0].ns == kMs);
  CHECK(times.before(kKernel, 50 * kMs).empty());
}

TEST_CASE("times are forgotten with their source, or when they are old") {
  JoinContext join(Rig::with_defaults({}));
  KernelTimes times(join);
  times.add(kKernel, WorkId{1}, true, 0, 1);
  times.add({2, 0, 5}, WorkId{2}, true, 0, 1);
  times.end_source(2);
  CHECK(times.size() == 1);
  CHECK(times.before({2, 0, 5}, UINT64_MAX).empty());
  join.now_ns = KernelTimes::kKeepNs / 2;
  times.expire();
  CHECK(times.size() == 1);
  join.now_ns = KernelTimes::kKeepNs + 2;
  times.expire();
  CHECK(times.size() == 0);
}

TEST_CASE("runs beyond the limit still count") {
  JoinContext join(Rig::with_defaults({}));
  KernelTimes times(join);
  constexpr uint64_t kTick = 10 * kMs;
  const uint64_t runs = KernelTimes::kMaxRuns + 100;
  for (uint64_t i = 0; i < runs; ++i) {
    times.add(kKernel, WorkId{1}, true, i * kTick, i * kTick + 1000);
  }
  CHECK(times.size() == KernelTimes::kMaxRuns);
  CHECK(ns_of(times.within(kKernel, 0, UINT64_MAX), 1) == runs * 1000);
}

TEST_CASE("the work of a launch is kept if samples will refer to it") {
  JoinContext join(Rig::with_defaults({}));
  KernelTimes times(join);
  times.expect(1, 50);
  CHECK(times.expects(1, 50));
  CHECK_FALSE(times.expects(2, 50));
  CHECK(times.of_launch(1, 50).empty());  // launch 50 has not run yet
  times.add(kKernel, WorkId{1}, true, kMs, 2 * kMs, 49);
  times.add(kKernel, WorkId{2}, true, kMs, 2 * kMs, 50);
  const auto ran = times.of_launch(1, 50);
  REQUIRE(ran.size() == 1);
  CHECK(ran[0].work == WorkId{2});
  CHECK(times.of_launch(1, 49).empty());
  times.expect(1, UINT64_MAX);
  times.expect(2, 50);
  times.end_source(1);
  CHECK_FALSE(times.expects(1, UINT64_MAX));
  CHECK(times.expects(2, 50));
  join.now_ns += KernelTimes::kKeepLaunchNs + kMs;
  times.expire();
  CHECK_FALSE(times.expects(2, 50));
}
