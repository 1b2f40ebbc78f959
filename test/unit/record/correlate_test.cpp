#include "record/correlate.h"

#include <unistd.h>

#include <algorithm>
#include <numeric>

#include "catch.h"

using gpuprof::backend::GpuOp;
using gpuprof::record::Batch;
using gpuprof::record::Correlator;

namespace {

const uint32_t kPid = static_cast<uint32_t>(::getpid());
const uint64_t kStack[] = {0x1000, 0x2000};

GpuOp kernel(uint64_t correlation, uint64_t duration, uint64_t end = 10'000) {
  GpuOp op;
  op.source = 1;
  op.correlation = correlation;
  op.start_ns = end - duration;
  op.end_ns = end;
  op.name_id = 1;
  return op;
}

Correlator make() {
  return Correlator({.start_ns = 1000, .interval_ns = 1'000'000, .counted_functions = {"f"}, .attach_pid = kPid});
}

void open_source(Correlator& correlator) {
  correlator.on_source(1, kPid, "mock");
  correlator.on_name(1, 1, "k");
}

uint64_t sum_ns(const Batch& batch) {
  return std::accumulate(batch.rows.begin(), batch.rows.end(), uint64_t{0},
                         [](uint64_t sum, const auto& row) { return sum + row.second.sum_ns; });
}

}  // namespace

TEST_CASE("GPU work takes the stack and thread of the launch with its correlation id") {
  Correlator correlator = make();
  open_source(correlator);
  correlator.on_thread(kPid, 5, "worker");
  correlator.on_stack(77, kPid, kStack, false);
  correlator.on_launch_stack(1, 100, 77, kPid, 5);
  correlator.on_launch_stack(1, 101, 77, kPid, 5);
  correlator.on_gpu_op(kernel(100, 30));
  correlator.on_gpu_op(kernel(101, 50));
  const Batch batch = correlator.take_batch();

  REQUIRE(batch.rows.size() == 1);
  const auto& [key, value] = batch.rows.front();
  CHECK(key.stack == 77);
  CHECK(key.thread != 0);
  CHECK(value.count == 2);
  CHECK(value.sum_ns == 80);
  CHECK(value.min_ns == 30);
  CHECK(value.max_ns == 50);
  CHECK(value.sum_squares_ns2 == 30 * 30 + 50 * 50);
  REQUIRE(batch.stacks.size() == 1);
  CHECK(batch.stacks.front().addresses == std::vector<uint64_t>{0x1000, 0x2000});
  CHECK(correlator.totals().with_stack == 2);
}

TEST_CASE("the same correlation id in another source is another launch") {
  Correlator correlator = make();
  open_source(correlator);
  correlator.on_source(2, kPid, "other");
  correlator.on_stack(77, kPid, kStack, false);
  correlator.on_launch_stack(2, 100, 77, kPid, 5);
  correlator.on_gpu_op(kernel(100, 30));
  correlator.settle(true);
  const Batch batch = correlator.take_batch();
  REQUIRE(batch.rows.size() == 1);
  CHECK(batch.rows.front().first.stack == 0);
  CHECK(sum_ns(batch) == 30);
}

TEST_CASE("GPU work waits for a launch that comes later, but not for ever") {
  Correlator correlator = make();
  open_source(correlator);
  correlator.on_stack(77, kPid, kStack, false);
  correlator.on_launch_stack(1, 1, 77, kPid, 5);
  correlator.on_gpu_op(kernel(2, 30));
  CHECK(correlator.take_batch().rows.empty());
  correlator.on_launch_stack(1, 2, 77, kPid, 5);
  correlator.settle();
  Batch batch = correlator.take_batch();
  REQUIRE(batch.rows.size() == 1);
  CHECK(batch.rows.front().first.stack == 77);

  correlator.on_gpu_op(kernel(3, 40));
  for (int turn = 0; turn < 100; ++turn) {
    correlator.settle();
  }
  batch = correlator.take_batch();
  REQUIRE(batch.rows.size() == 1);
  CHECK(batch.rows.front().first.stack == 0);
  CHECK(batch.rows.front().second.sum_ns == 40);
}

TEST_CASE("every node of a graph launch has the launch's stack") {
  Correlator correlator = make();
  open_source(correlator);
  correlator.on_stack(77, kPid, kStack, false);
  correlator.on_launch_stack(1, 1, 77, kPid, 5);
  for (int node = 0; node < 3; ++node) {
    GpuOp op = kernel(1, 10);
    op.more = true;
    correlator.on_gpu_op(op);
  }
  const Batch batch = correlator.take_batch();
  REQUIRE(batch.rows.size() == 1);
  CHECK(batch.rows.front().first.stack == 77);
  CHECK(batch.rows.front().second.count == 3);
}

TEST_CASE("a launch with another process's source id is not believed") {
  Correlator correlator = make();
  open_source(correlator);
  correlator.on_stack(77, kPid, kStack, false);
  correlator.on_launch_stack(1, 1, 77, kPid + 1, 5);
  correlator.on_gpu_op(kernel(1, 10));
  correlator.settle(true);
  CHECK(correlator.take_batch().rows.front().first.stack == 0);
}

TEST_CASE("a stack whose frames were lost is no stack") {
  Correlator correlator = make();
  open_source(correlator);
  correlator.on_launch_stack(1, 1, 4711, kPid, 5);
  correlator.on_gpu_op(kernel(1, 10));
  const Batch batch = correlator.take_batch();
  CHECK(batch.rows.front().first.stack == 0);
  CHECK(batch.stacks.empty());
  CHECK(correlator.totals().with_stack == 0);
}

TEST_CASE("work falls into the slice in which it ended") {
  Correlator correlator = make();
  open_source(correlator);
  correlator.on_gpu_op(kernel(1, 10, 900));  // before the session's start: a clock that is off must not wrap
  correlator.on_gpu_op(kernel(2, 10, 1'000'999));
  correlator.on_gpu_op(kernel(3, 10, 1'001'000));
  std::vector<uint64_t> slices;
  for (const auto& row : correlator.take_batch().rows) {
    slices.push_back(row.first.slice);
  }
  std::sort(slices.begin(), slices.end());
  CHECK(slices == std::vector<uint64_t>{0, 1});
}

TEST_CASE("counters only grow") {
  Correlator correlator = make();
  open_source(correlator);
  uint64_t lost[16] = {};
  lost[GPUPROF_LOSS_RING_FULL] = 3;
  correlator.on_counters(1, 10, lost);
  lost[GPUPROF_LOSS_RING_FULL] = 1;
  correlator.on_counters(1, 5, lost);
  lost[GPUPROF_LOSS_RING_FULL] = 4;
  correlator.on_counters(1, 12, lost);
  const Batch batch = correlator.take_batch();
  CHECK(correlator.totals().launches == 12);
  CHECK(correlator.totals().lost_in_all() == 4);
  CHECK(batch.losses.size() == 2);
}

TEST_CASE("launches without GPU times are counted per stack") {
  Correlator correlator = make();
  correlator.on_stack(77, kPid, kStack, false);
  correlator.on_counted_launch(0, 77, kPid, 5);
  correlator.on_counted_launch(0, 77, kPid, 5);
  const Batch batch = correlator.take_batch();
  REQUIRE(batch.rows.size() == 1);
  CHECK(batch.rows.front().first.counted_only);
  CHECK(batch.rows.front().second.count == 2);
  CHECK(batch.processes.size() == 1);
}

TEST_CASE("what a source leaves unmatched at its end is counted") {
  Correlator correlator = make();
  open_source(correlator);
  correlator.on_stack(77, kPid, kStack, false);
  correlator.on_launch_stack(1, 1, 77, kPid, 5);
  correlator.on_launch_stack(1, 2, 77, kPid, 5);
  correlator.on_gpu_op(kernel(1, 10));
  correlator.on_source_end(1);
  CHECK(correlator.totals().unmatched == 1);
  CHECK(correlator.totals().gpu_records == 1);
  CHECK(correlator.take_ended_stacks() == std::vector<uint64_t>{77});
}

TEST_CASE("a graph launch that had its records is not unmatched") {
  Correlator correlator = make();
  open_source(correlator);
  correlator.on_stack(77, kPid, kStack, false);
  correlator.on_launch_stack(1, 1, 77, kPid, 5);
  GpuOp op = kernel(1, 10);
  op.more = true;
  correlator.on_gpu_op(op);
  correlator.on_source_end(1);
  CHECK(correlator.totals().unmatched == 0);
}

TEST_CASE("the end of one process does not hurry the work of another") {
  Correlator correlator = make();
  open_source(correlator);
  correlator.on_source(2, kPid + 1, "mock");
  correlator.on_stack(77, kPid, kStack, false);
  correlator.on_launch_stack(1, 9, 77, kPid, 5);
  correlator.on_gpu_op(kernel(1, 10));  // its launch has not come yet
  correlator.on_source_end(2);
  correlator.on_launch_stack(1, 1, 77, kPid, 5);
  correlator.settle();
  const Batch batch = correlator.take_batch();
  REQUIRE(batch.rows.size() == 1);
  CHECK(batch.rows.front().first.stack == 77);
}

TEST_CASE("stacks and launches of strangers are not taken in") {
  Correlator correlator({.start_ns = 1000, .interval_ns = 1'000'000, .counted_functions = {"f"}, .attach_pid = 0});
  correlator.on_stack(77, kPid, kStack, false);
  correlator.on_counted_launch(0, 77, kPid, 5);
  const Batch batch = correlator.take_batch();
  CHECK(batch.rows.empty());
  CHECK(batch.processes.empty());
}
