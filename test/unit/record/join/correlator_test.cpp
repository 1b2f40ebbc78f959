#include "record/join/correlator.h"

#include "catch.h"
#include "join_rig.h"

using gpuprof::backend::Counters;
using gpuprof::backend::GpuOp;
using gpuprof::record::Batch;
using gpuprof::record::Correlator;
using gpuprof::test::kPid;
using gpuprof::test::kStack;
using gpuprof::test::Rig;
using gpuprof::test::sum_ns;
namespace profile = gpuprof::profile;

TEST_CASE("GPU work takes the stack and thread of the launch with its correlation id") {
  Rig rig;
  rig.correlator.on_thread(kPid, 5, "worker");
  rig.stack(77);
  rig.launch(100, 77);
  rig.launch(101, 77);
  rig.correlator.on_gpu_op(Rig::kernel(100, 30));
  rig.correlator.on_gpu_op(Rig::kernel(101, 50));
  const Batch batch = rig.take();

  REQUIRE(batch.rows.size() == 1);
  const auto& value = batch.rows.front().second;
  CHECK(rig.work(batch).stack == 77);
  CHECK(rig.work(batch).tid == 5);
  CHECK(rig.names.at(rig.work(batch).thread) == "worker");
  CHECK(rig.names.at(rig.work(batch).name) == "k");
  CHECK(value.count == 2);
  CHECK(value.sum_ns == 80);
  CHECK(value.min_ns == 30);
  CHECK(value.max_ns == 50);
  CHECK(value.sum_squares_ns2 == 30 * 30 + 50 * 50);
  REQUIRE(batch.stacks.size() == 1);
  CHECK(batch.stacks.front().words == std::vector<uint64_t>{0x1000, 0x2000});
  CHECK(rig.correlator.totals().with_stack == 2);
}

TEST_CASE("a work is sent once and used in every slice") {
  Rig rig;
  rig.stack(77);
  rig.launch(1, 77);
  rig.launch(2, 77);
  rig.correlator.on_gpu_op(Rig::kernel(1, 10, 10'000));
  Batch batch = rig.take();
  REQUIRE(batch.works.size() == 1);
  const auto id = batch.works.front().id;
  rig.correlator.on_gpu_op(Rig::kernel(2, 10, 5'000'000));
  batch = rig.take();
  CHECK(batch.works.empty());
  REQUIRE(batch.rows.size() == 1);
  CHECK(batch.rows.front().first.work == id);
  CHECK(batch.rows.front().first.slice == 4);
}

TEST_CASE("equal correlation ids of two sources are two launches") {
  Rig rig;
  rig.open(2);
  rig.stack(77);
  rig.correlator.on_launch_stack({.source = 2, .correlation = 100, .stack = 77, .time_ns = 1, .pid = kPid, .tid = 5});
  rig.correlator.on_gpu_op(Rig::kernel(100, 30));
  rig.correlator.end_iteration(true);
  const Batch batch = rig.take();
  REQUIRE(batch.rows.size() == 1);
  CHECK(rig.work(batch).stack == 0);
  CHECK(sum_ns(batch) == 30);
}

TEST_CASE("GPU work waits for a late launch, but not forever") {
  Rig rig;
  rig.stack(77);
  rig.launch(1, 77);
  rig.correlator.on_gpu_op(Rig::kernel(2, 30));
  CHECK(rig.take().rows.empty());
  rig.launch(2, 77);
  rig.correlator.end_iteration();
  Batch batch = rig.take();
  REQUIRE(batch.rows.size() == 1);
  CHECK(rig.work(batch).stack == 77);

  rig.correlator.on_gpu_op(Rig::kernel(3, 40));
  rig.iterate(100);
  batch = rig.take();
  REQUIRE(batch.rows.size() == 1);
  CHECK(rig.work(batch).stack == 0);
  CHECK(batch.rows.front().second.sum_ns == 40);
}

TEST_CASE("definitions in later rings are awaited until the end of the poll iteration") {
  Rig rig;
  rig.correlator.on_source(3, kPid + 7, "late");
  GpuOp op = Rig::kernel(1);
  op.source = 3;
  op.device = 2;
  rig.correlator.on_gpu_op(op);
  CHECK(rig.take().rows.empty());
  rig.correlator.on_device(3, 2, 9, 8);  // refers to the names 9 and 8, which arrive later
  rig.correlator.on_name(3, 1, "k");
  rig.correlator.on_name(3, 9, "H200");
  rig.correlator.on_name(3, 8, "GPU-1");
  rig.correlator.end_iteration();
  const Batch batch = rig.take();
  REQUIRE(batch.devices.size() == 1);
  CHECK(batch.devices.front().name == "H200");
  CHECK(batch.devices.front().uuid == "GPU-1");
  CHECK(rig.work(batch).device == batch.devices.front().id);
}

TEST_CASE("every work item of a launch has the launch's stack") {
  Rig rig;
  rig.stack(77);
  rig.launch(1, 77);
  for (int node = 0; node < 3; ++node) {
    GpuOp op = Rig::kernel(1, 10);
    op.more = true;
    rig.correlator.on_gpu_op(op);
  }
  const Batch batch = rig.take();
  REQUIRE(batch.rows.size() == 1);
  CHECK(rig.work(batch).stack == 77);
  CHECK(batch.rows.front().second.count == 3);
}

TEST_CASE("a launch with the source id of another process is rejected") {
  Rig rig;
  rig.stack(77);
  rig.correlator.on_launch_stack({.source = 1, .correlation = 1, .stack = 77, .time_ns = 1, .pid = kPid + 1, .tid = 5});
  rig.correlator.on_gpu_op(Rig::kernel(1, 10));
  rig.correlator.end_iteration(true);
  CHECK(rig.work(rig.take()).stack == 0);
}

TEST_CASE("a stack whose frames were lost counts as no stack") {
  Rig rig;
  rig.launch(1, 4711);
  rig.correlator.on_gpu_op(Rig::kernel(1, 10));
  const Batch batch = rig.take();
  CHECK(rig.work(batch).stack == 0);
  CHECK(batch.stacks.empty());
  CHECK(rig.correlator.totals().with_stack == 0);
}

TEST_CASE("work belongs to the slice in which it ended") {
  Rig rig;
  for (uint64_t id = 1; id <= 3; ++id) {
    rig.launch(id, 0);
  }
  rig.correlator.on_gpu_op(Rig::kernel(1, 10, 900));  // starts before the session: the slice must not wrap around
  rig.correlator.on_gpu_op(Rig::kernel(2, 10, 1'000'999));
  rig.correlator.on_gpu_op(Rig::kernel(3, 10, 1'001'000));
  std::vector<uint64_t> slices;
  for (const auto& row : rig.take().rows) {
    slices.push_back(row.first.slice);
  }
  std::sort(slices.begin(), slices.end());
  CHECK(slices == std::vector<uint64_t>{0, 1});
}

TEST_CASE("decreasing counters are ignored") {
  Rig rig;
  Counters counters;
  counters.launches = 10;
  counters.lost[GPUPROF_LOSS_RING_FULL] = 3;
  rig.correlator.on_counters(1, counters);
  counters.launches = 5;
  counters.lost[GPUPROF_LOSS_RING_FULL] = 1;
  rig.correlator.on_counters(1, counters);
  counters.launches = 12;
  counters.lost[GPUPROF_LOSS_RING_FULL] = 4;
  counters.lost[GPUPROF_LOSS_RANGE_LIMIT] = 2;
  rig.correlator.on_counters(1, counters);
  const Batch batch = rig.take();
  CHECK(rig.correlator.totals().launches == 12);
  CHECK(rig.correlator.totals().lost.at("ring_full") == 4);
  CHECK(rig.correlator.totals().lost.at("range_limit") == 2);
  CHECK(rig.correlator.totals().lost_in_all() == 6);
  CHECK(batch.losses.size() == 2);
}

TEST_CASE("launches without GPU times are counted per stack while recording is on") {
  Rig rig({.attach_pid = kPid});
  rig.stack(77);
  const gpuprof::record::LaunchStack launch{.stack = 77, .time_ns = 5000, .pid = kPid, .tid = 5};
  rig.correlator.on_counted_launch(0, launch);
  rig.correlator.on_counted_launch(0, launch);
  rig.correlator.close_window(6000);
  rig.correlator.on_counted_launch(0, launch);
  const Batch batch = rig.take();
  REQUIRE(batch.rows.size() == 1);
  CHECK(rig.work(batch).op == profile::Op::launch);
  CHECK(rig.names.at(rig.work(batch).name) == "f");
  CHECK(batch.rows.front().second.count == 2);
}

TEST_CASE("the end of one process does not flush pending work of another") {
  Rig rig;
  rig.open(2, kPid + 1);
  rig.stack(77);
  rig.launch(9, 77);
  rig.correlator.on_gpu_op(Rig::kernel(1, 10));  // its launch is still pending
  rig.correlator.on_source_end(2);
  rig.launch(1, 77);
  rig.correlator.end_iteration();
  const Batch batch = rig.take();
  REQUIRE(batch.rows.size() == 1);
  CHECK(rig.work(batch).stack == 77);
}

TEST_CASE("an ended process leaves no state behind") {
  Rig rig;
  rig.stack(77);
  rig.launch(1, 77);
  rig.correlator.on_gpu_op(Rig::kernel(1, 10));
  rig.correlator.on_source_end(1);
  CHECK(rig.correlator.take_ended_stacks() == std::vector<uint64_t>{77});
  CHECK(rig.take().ended.size() == 1);
}

TEST_CASE("stacks and launches of unknown processes are ignored") {
  Correlator correlator(
      {.start_ns = 1000, .grid = {.interval_ns = 1'000'000}, .counted_functions = {"f"}, .attach_pid = 0});
  correlator.open_window(1000);
  correlator.on_stack(77, kPid, kStack, 0, 0);
  correlator.on_counted_launch(0, {.stack = 77, .time_ns = 5000, .pid = kPid, .tid = 5});
  const Batch batch = correlator.take_batch();
  CHECK(batch.rows.empty());
  CHECK(batch.processes.empty());
}

TEST_CASE("devices with equal UUIDs are one device, whatever their index in each process") {
  Rig rig;
  (void)rig.take();
  const auto device = [&](uint32_t source, uint32_t index, const char* name, const char* uuid) {
    rig.correlator.on_source(source, kPid + source, "cupti");
    rig.correlator.on_name(source, 1, name);
    rig.correlator.on_name(source, 2, uuid);
    rig.correlator.on_device(source, index, 1, *uuid == '\0' ? 0 : 2);
  };
  device(10, 0, "H200", "GPU-a");
  device(11, 1, "H200", "GPU-a");
  device(12, 0, "H200", "GPU-b");
  device(13, 0, "pocl", "");
  device(14, 0, "pocl", "");
  device(15, 1, "pocl", "");
  CHECK(rig.take().devices.size() == 4);
}
