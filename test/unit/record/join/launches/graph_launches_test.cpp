#include "record/join/launches/graph_launches.h"

#include "catch.h"
#include "join_rig.h"

using gpuprof::backend::GpuOp;
using gpuprof::backend::GraphLaunch;
using gpuprof::record::GraphLaunches;
using gpuprof::test::fake_now_ns;
using gpuprof::test::Rig;

namespace {

constexpr uint32_t kExec = 3;
constexpr uint64_t kStream = 13;
constexpr uint64_t kUs = 1'000'000;  // times below are in units of 1 ms, much more than GraphLaunches::kClockSlackNs

GraphLaunch launch_of(uint64_t correlation, uint64_t time, uint64_t finished = 0) {
  return {.correlation = correlation, .time_ns = time * kUs, .finished = finished, .exec = kExec, .stream = kStream};
}

GpuOp ran_at(uint64_t correlation, uint64_t time, uint64_t stream = kStream) {
  GpuOp op;
  op.source = 1;
  op.correlation = correlation;
  op.start_ns = time * kUs;
  op.stream = stream;
  return op;
}

GpuOp body_at(uint64_t time) {
  GpuOp op = ran_at(0, time, 99);
  op.exec = kExec;
  op.graph_node = uint64_t{kExec} << 32 | 1;
  return op;
}

std::string candidates(GraphLaunches& launches, uint64_t time) {
  std::string list;
  for (const auto& launch : launches.candidates(body_at(time))) {
    list += (list.empty() ? "" : " ") + std::to_string(launch.call.correlation);
  }
  return list;
}

uint64_t by_order(GraphLaunches& launches, uint64_t time) {
  const GpuOp op = body_at(time);
  const auto* found = launches.by_order(op, launches.candidates(op));
  return found == nullptr ? 0 : found->call.correlation;
}

}  // namespace

TEST_CASE("work in a body belongs to a launch that was called before it") {
  GraphLaunches launches;
  CHECK(candidates(launches, 5).empty());
  launches.add(1, launch_of(10, 1));
  launches.add(1, launch_of(20, 8));
  CHECK(candidates(launches, 0).empty());
  CHECK(candidates(launches, 5) == "10");
  CHECK(candidates(launches, 9) == "10 20");  // the second launch may have waited for the first
  launches.end_source(1);
  CHECK(candidates(launches, 5).empty());
}

TEST_CASE("other work on the stream separates queued launches") {
  GraphLaunches launches;
  launches.add(1, launch_of(10, 1));
  launches.add(1, launch_of(20, 2));
  launches.add(1, launch_of(30, 3));
  launches.ran(ran_at(15, 100));  // a copy queued between the first two launches
  CHECK(candidates(launches, 50) == "10");
  CHECK(candidates(launches, 150) == "20 30");
  launches.ran(ran_at(25, 200));
  CHECK(candidates(launches, 150) == "20");
  CHECK(candidates(launches, 250) == "30");
  launches.ran(ran_at(35, 170, kStream + 1));  // work on another stream does not separate these launches
  CHECK(candidates(launches, 250) == "30");
}

TEST_CASE("other work of the same launch separates launches") {
  GraphLaunches launches;
  for (const uint64_t correlation : {10, 20, 30}) {
    launches.add(1, launch_of(correlation, correlation / 10));
  }
  launches.ran(ran_at(10, 100, 55));
  launches.ran(ran_at(20, 200, 55));
  launches.ran(ran_at(30, 300, 55));
  SECTION("the other work comes before the body") {
    CHECK(candidates(launches, 150) == "10 20");
    CHECK(by_order(launches, 150) == 10);
    CHECK(by_order(launches, 250) == 20);
    CHECK(candidates(launches, 350) == "30");
  }
  SECTION("the other work comes after the body, as the first launch shows") {
    CHECK(candidates(launches, 50) == "10");
    CHECK(by_order(launches, 150) == 20);
    CHECK(by_order(launches, 250) == 30);
  }
}

TEST_CASE("a launch after a wait for the stream excludes earlier launches") {
  GraphLaunches launches;
  launches.add(1, launch_of(10, 1));
  launches.add(1, launch_of(20, 50, 15));  // the stream had finished all launches with ids below 15
  launches.add(1, launch_of(30, 51));
  CHECK(candidates(launches, 40) == "10");
  CHECK(candidates(launches, 60) == "20 30");
}

TEST_CASE("a launch called just after the work began is not the launch of the work") {
  GraphLaunches launches;
  launches.add(1, launch_of(10, 1));
  GraphLaunch next = launch_of(20, 50, 15);
  // Launch 20 is called 10 us after time 50. Launch 10 had ended then, because `finished` is 15. So the work that began
  // at 50 ran for less than 10 us, and is that of launch 10.
  next.time_ns += GraphLaunches::kClockSlackNs / 2;
  launches.add(1, next);
  CHECK(candidates(launches, 50) == "10");
}

TEST_CASE("work may start slightly before its call, within the slack of the clocks") {
  GraphLaunches launches;
  GraphLaunch launch = launch_of(10, 50);
  launch.time_ns += GraphLaunches::kClockSlackNs / 2;
  launches.add(1, launch);
  CHECK(candidates(launches, 50) == "10");
  launch.time_ns += GraphLaunches::kClockSlackNs;
  launch.exec = kExec + 1;
  launches.add(1, launch);
  GpuOp other = body_at(50);
  other.exec = kExec + 1;
  CHECK(launches.candidates(other).empty());
}

TEST_CASE("correlation ids may wrap around") {
  GraphLaunches launches;
  launches.add(1, launch_of(UINT32_MAX - 1, 1));
  launches.add(1, launch_of(5, 2));
  launches.ran(ran_at(1, 100));
  CHECK(candidates(launches, 50) == std::to_string(UINT32_MAX - 1));
  CHECK(candidates(launches, 150) == "5");
}

TEST_CASE("an unreported launch is known by its own work") {
  GraphLaunches launches;
  launches.add(1, launch_of(10, 1));
  GpuOp own = ran_at(20, 100);
  own.graph_node = uint64_t{kExec} << 32 | 5;
  launches.ran(own);
  CHECK(candidates(launches, 50) == "10");
  CHECK(candidates(launches, 150) == "20");
}

TEST_CASE("launches are limited in number, and graphs unused for long are dropped first") {
  GraphLaunches launches;
  launches.add(1, launch_of(1, 1));
  for (uint64_t i = 2; i <= GraphLaunches::kMaxLaunches + 10; ++i) {
    GraphLaunch launch = launch_of(i, 1);
    launch.exec = static_cast<uint32_t>(kExec + i);
    launch.stream = static_cast<uint32_t>(i);
    launches.add(1, launch);
  }
  launches.add(1, launch_of(GraphLaunches::kMaxLaunches + 11, 100));
  CHECK(candidates(launches, 50) == "1");
  CHECK(candidates(launches, 150).empty());  // a launch that was not stored may own the work
  GraphLaunch later = launch_of(GraphLaunches::kMaxLaunches + 12, 200);
  later.time_ns += GraphLaunches::kKeepNs;
  later.exec = 7;
  launches.add(1, later);
  GpuOp last = body_at(300);
  last.exec = 7;
  last.start_ns += GraphLaunches::kKeepNs;
  CHECK(launches.candidates(last).size() == 1);
  for (uint64_t i = 1; i <= 2 * GraphLaunches::kMaxOfOne; ++i) {
    launches.add(2, launch_of(i, 1));
  }
  GpuOp other = body_at(5);
  other.source = 2;
  CHECK(launches.candidates(other).size() == GraphLaunches::kMaxOfOne);
}

namespace {

struct BodyRig : Rig {
  BodyRig() {
    stack(77);
    stack(88);
    fake_now_ns = 1000 * kUs;
    correlator.end_iteration();
  }
  void launch_graph(uint64_t correlation, uint64_t stack_id, uint64_t time) {
    launch(correlation, stack_id, time * kUs);
    correlator.on_graph_launch(1, launch_of(correlation, time));
  }
  void body(uint64_t time) {
    GpuOp op = body_at(time);
    op.end_ns = op.start_ns + 10;
    op.name_id = 1;
    op.more = true;
    correlator.on_gpu_op(op);
  }
};

}  // namespace

TEST_CASE("launches with equal stacks need not be separated, and each counts as having work") {
  BodyRig rig;
  rig.launch_graph(10, 77, 1);
  rig.launch_graph(20, 77, 2);
  rig.body(50);
  rig.body(60);
  rig.correlator.end_iteration();
  const auto batch = rig.take();
  REQUIRE(batch.rows.size() == 2);  // the bodies ran in two time slices
  CHECK(rig.work(batch, 0).stack == 77);
  CHECK(rig.work(batch, 1).stack == 77);
  rig.correlator.on_counters(1, {.launches = 2});
  rig.correlator.on_source_end(1);
  CHECK(rig.correlator.totals().coverage[gpuprof::profile::CoverageCount::matched] == 2);
  CHECK(rig.correlator.totals().coverage[gpuprof::profile::CoverageCount::without_launch] == 0);
}

TEST_CASE("launches with different stacks are separated by later work, or the work has no stack") {
  BodyRig rig;
  rig.launch_graph(10, 77, 1);
  rig.launch_graph(20, 88, 2);
  rig.body(50);
  rig.correlator.end_iteration();
  CHECK(rig.take().rows.empty());
  SECTION("separated by later work") {
    GpuOp copy = ran_at(15, 100);
    copy.end_ns = copy.start_ns + 1;
    copy.op = GPUPROF_OP_COPY;
    rig.launch(15, 88);
    rig.correlator.on_gpu_op(copy);
    rig.take();
    fake_now_ns += 2'000'000'000;
    rig.correlator.end_iteration();
    const auto batch = rig.take();
    REQUIRE(batch.rows.size() == 1);
    CHECK(rig.work(batch).stack == 77);
  }
  SECTION("not separated") {
    fake_now_ns += 2'000'000'000;
    rig.correlator.end_iteration();
    const auto batch = rig.take();
    REQUIRE(batch.rows.size() == 1);
    CHECK(rig.work(batch).stack == 0);
    rig.correlator.on_counters(1, {.launches = 2});
    rig.correlator.on_source_end(1);
    CHECK(rig.correlator.totals().coverage[gpuprof::profile::CoverageCount::without_launch] == 1);
    CHECK(rig.correlator.totals().coverage[gpuprof::profile::CoverageCount::matched] ==
          2);  // the work belongs to one of two launches; both count, because it is unknown which
  }
}

TEST_CASE("work in a body of an excluded launch is excluded") {
  BodyRig rig;
  GraphLaunch outside = launch_of(10, 1);
  outside.outside = true;
  rig.correlator.on_graph_launch(1, outside);
  rig.body(50);
  rig.launch(20, 77);
  GraphLaunch inside = launch_of(20, 100);
  inside.finished = 15;
  rig.correlator.on_graph_launch(1, inside);
  rig.body(150);
  rig.correlator.end_iteration();
  const auto batch = rig.take();
  REQUIRE(batch.rows.size() == 1);
  CHECK(rig.work(batch).stack != 0);
  rig.correlator.on_counters(1, {.launches = 1});
  rig.correlator.on_source_end(1);
  CHECK(rig.correlator.totals().coverage[gpuprof::profile::CoverageCount::outside_range] == 1);
}
