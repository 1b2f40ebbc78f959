
#include <algorithm>

#include "catch.h"
#include "join_rig.h"

using gpuprof::backend::Counters;
using gpuprof::backend::GpuOp;
using gpuprof::backend::HostOp;
using gpuprof::record::Batch;
using gpuprof::record::WorkSet;
using gpuprof::test::coverage;
using gpuprof::test::fake_now_ns;
using gpuprof::test::kPid;
using gpuprof::test::Rig;
using gpuprof::test::sum_ns;
namespace profile = gpuprof::profile;

namespace {

Counters counters(uint64_t launches) {
  Counters made;
  made.launches = launches;
  return made;
}

Batch finish(Rig& rig) {
  rig.correlator.close_window(fake_now_ns);
  rig.correlator.finish();
  return rig.take();
}

HostOp sync(uint64_t id, uint64_t start, uint64_t end) {
  HostOp op;
  op.source = 1;
  op.correlation = GPUPROF_CORRELATION_HOST | id;
  op.start_ns = start;
  op.end_ns = end;
  op.count = 1;
  op.name_id = 2;
  op.tid = 5;
  op.op = GPUPROF_HOST_SYNC;
  return op;
}

}  // namespace

TEST_CASE("launches == matched + captured + failed + without_record always holds") {
  Rig rig;
  rig.stack(77);
  Counters seen = counters(10);
  seen.counts[GPUPROF_COUNT_FAILED] = 1;
  seen.counts[GPUPROF_COUNT_CAPTURED] = 2;
  rig.correlator.on_counters(1, seen);
  rig.launch(1, 77);
  rig.launch(2, 77);
  rig.launch(3, 77);
  rig.launch(4, 77);
  rig.correlator.on_gpu_op(Rig::kernel(1));
  for (int i = 0; i < 5; ++i) {  // five nodes of one graph launch, which counts once
    GpuOp node = Rig::kernel(2);
    node.more = true;
    rig.correlator.on_gpu_op(node);
  }
  rig.launch(5, 77);
  rig.correlator.on_gpu_op(Rig::kernel(5));
  for (int i = 0; i < 3; ++i) {  // nodes of a graph launch whose launch event was lost in the BPF ring
    GpuOp orphan = Rig::kernel(6);
    orphan.more = true;
    rig.correlator.on_gpu_op(orphan);
    rig.correlator.end_iteration(true);
  }
  auto sums = coverage(finish(rig));
  CHECK(sums["launches"] == 10);
  CHECK(sums["matched"] == 4);
  CHECK(sums["captured"] == 2);
  CHECK(sums["failed"] == 1);
  CHECK(sums["without_record"] == 3);
  CHECK(sums["launches"] == sums["matched"] + sums["captured"] + sums["failed"] + sums["without_record"]);
  CHECK(sums["without_launch"] == 3);
  CHECK(sums["without_stack"] == 3);
}

TEST_CASE("the rows of launches without work sum up to their number, even if the recorder does not know all of them") {
  for (const bool ends : {true, false}) {
    Rig rig;
    rig.stack(77);
    rig.correlator.on_counters(1, counters(10));
    rig.launch(1, 77);
    rig.launch(2, 77);
    rig.launch(3, 77);
    rig.correlator.on_gpu_op(Rig::kernel(1));
    rig.take();
    if (ends) {
      rig.correlator.on_source_end(1);
    }
    const Batch last = finish(rig);
    uint64_t with_stack = 0;
    uint64_t without_stack = 0;
    for (const auto& [key, row] : last.rows) {
      const auto id = key.work;  // clang 14 cannot capture `key`
      const auto work =
          std::find_if(last.works.begin(), last.works.end(), [&](const auto& one) { return one.id == id; });
      REQUIRE(work != last.works.end());
      CHECK(work->key.op == profile::Op::no_work);
      (work->key.stack != 0 ? with_stack : without_stack) += row.count;
    }
    CHECK(with_stack == 2);
    CHECK(without_stack == 7);
    CHECK(coverage(last)["without_record"] == 9);
  }
}

TEST_CASE("the coverage identity holds for a target that sends false counters") {
  Rig rig;
  rig.stack(77);
  Counters lies = counters(3);
  lies.counts[GPUPROF_COUNT_CAPTURED] = UINT64_MAX;
  lies.counts[GPUPROF_COUNT_FAILED] = UINT64_MAX;
  rig.correlator.on_counters(1, lies);
  for (uint64_t i = 0; i < 2; ++i) {
    rig.launch(i, 77);
    rig.correlator.on_gpu_op(Rig::kernel(i));
  }
  auto sums = coverage(finish(rig));
  CHECK(sums["matched"] == 2);
  CHECK(sums["launches"] == sums["matched"] + sums["captured"] + sums["failed"] + sums["without_record"]);
}

TEST_CASE("false counters of targets sum up to at most 64 bits") {
  Rig rig;
  Counters lies = counters(UINT64_MAX);
  lies.lost[GPUPROF_LOSS_RING_FULL] = UINT64_MAX;
  lies.lost[GPUPROF_LOSS_RING_BUSY] = UINT64_MAX;
  rig.correlator.on_counters(1, lies);
  rig.correlator.on_counters(1, lies);
  const auto& totals = rig.correlator.totals();
  CHECK(totals.launches < uint64_t{1} << 50);
  CHECK(totals.lost_in_all() > totals.lost.at("ring_full"));
  CHECK(totals.lost_in_all() < uint64_t{1} << 50);
}

TEST_CASE("times that targets report grow for days") {
  Rig rig;
  constexpr uint64_t kDayNs = 86'400'000'000'000;
  Counters times = counters(1);
  for (uint64_t days = 1; days <= 30; ++days) {
    times.counts[GPUPROF_COUNT_PASSED_NS] = days * kDayNs;
    rig.correlator.on_counters(1, times);
    CHECK(rig.correlator.totals().counts[GPUPROF_COUNT_PASSED_NS] == days * kDayNs);
  }
}

TEST_CASE("work whose name never arrives is counted and shown without it") {
  Rig rig;
  rig.stack(77);
  rig.launch(1, 77);
  auto op = Rig::kernel(1);
  op.name_id = 4711;
  rig.correlator.on_gpu_op(op);
  rig.correlator.finish();
  const Batch batch = rig.correlator.take_batch();
  CHECK(batch.rows.size() == 1);
  CHECK(rig.correlator.totals().lost.at("late_name") == 1);
}

TEST_CASE("work of an unknown launch does not count as matched") {
  Rig rig;  // work without launches, as if gpuprof had been injected into the process after the launches
  rig.correlator.on_gpu_op(Rig::kernel(1));
  rig.correlator.on_gpu_op(Rig::kernel(2));
  auto sums = coverage(finish(rig));
  CHECK(sums["launches"] == 0);
  CHECK(sums["matched"] == 0);
  CHECK(sums["without_launch"] == 2);
}

TEST_CASE("with record -p, work that is older than all known launches was launched before the attach") {
  Rig rig({.attach_pid = kPid, .stacks_wanted = true});
  rig.correlator.on_gpu_op(Rig::kernel(4));
  rig.stack(77);
  rig.launch(6, 77);
  rig.correlator.on_gpu_op(Rig::kernel(5));
  rig.correlator.on_gpu_op(Rig::kernel(6));
  rig.correlator.on_gpu_op(Rig::kernel(7));  // its launch event was lost
  rig.correlator.end_iteration(true);
  auto sums = coverage(finish(rig));
  CHECK(sums["before_attach"] == 2);
  CHECK(sums["without_launch"] == 1);
  CHECK(sums["without_stack"] == 1);
  CHECK(rig.correlator.totals().gpu_records == 4);
}

TEST_CASE("coverage is counted per process and written when the process ends") {
  Rig rig;
  rig.stack(77);
  rig.correlator.on_counters(1, counters(1));
  rig.launch(1, 77);
  rig.correlator.on_gpu_op(Rig::kernel(1));
  rig.correlator.on_source_end(1);
  const Batch batch = rig.take();
  REQUIRE(batch.coverage.size() == 3);
  CHECK(profile::index(batch.coverage.front().process) != 0);
  CHECK(rig.correlator.totals().coverage[gpuprof::profile::CoverageCount::matched] == 1);
  CHECK(rig.correlator.totals().launches == 1);
}

TEST_CASE("a correlation id that is reused is a new launch") {
  Rig rig;
  rig.stack(77);
  rig.stack(78);
  rig.correlator.on_counters(1, counters(2));
  rig.launch(1, 77, 5000);  // a launch without any work
  rig.launch(1, 78, 9000);
  rig.correlator.on_gpu_op(Rig::kernel(1));
  const Batch batch = rig.take();
  CHECK(rig.work(batch).stack == 78);
  auto sums = coverage(finish(rig));
  CHECK(sums["matched"] == 1);
  CHECK(sums["without_record"] == 1);
}

TEST_CASE("host calls have their own rows and are not part of GPU time") {
  Rig rig;
  rig.stack(77);
  rig.launch(GPUPROF_CORRELATION_HOST | 9, 77);
  rig.correlator.on_host_op(sync(9, 5000, 5400));
  HostOp faults;
  faults.source = 1;
  faults.start_ns = 6000;
  faults.end_ns = 6100;
  faults.count = 12;
  faults.bytes = 4096;
  faults.device = 0;
  faults.op = GPUPROF_HOST_FAULT_GPU;
  rig.correlator.on_host_op(faults);
  const Batch batch = rig.take();
  const auto syncs = rig.rows(batch, profile::Op::sync);
  REQUIRE(syncs.size() == 1);
  CHECK(syncs.front().first.stack == 77);
  CHECK(profile::index(syncs.front().first.device) == 0);
  CHECK(rig.names.at(syncs.front().first.name) == "cudaStreamSynchronize");
  CHECK(syncs.front().second.sum_ns == 400);
  const auto page_faults = rig.rows(batch, profile::Op::fault_gpu);
  REQUIRE(page_faults.size() == 1);
  CHECK(page_faults.front().second.count == 12);
  CHECK(page_faults.front().second.bytes == 4096);
  CHECK(profile::index(page_faults.front().first.device) != 0);
  CHECK(rig.correlator.totals().gpu_records == 0);
  CHECK(rig.correlator.totals().gpu_ns == 0);
  CHECK(coverage(finish(rig)).empty());
}

TEST_CASE("a host call whose stack was lost is still recorded") {
  Rig rig;
  rig.stack(77);
  rig.launch(GPUPROF_CORRELATION_HOST | 1, 77);
  rig.correlator.on_host_op(sync(2, 5000, 5400));
  CHECK(rig.take().rows.empty());
  rig.iterate(60);
  const Batch batch = rig.take();
  REQUIRE(batch.rows.size() == 1);
  CHECK(rig.work(batch).stack == 0);
  CHECK(rig.work(batch).tid == 5);
}

TEST_CASE("a launch and a host call may have equal numbers") {
  Rig rig;
  rig.stack(77);
  rig.stack(78);
  rig.launch(9, 77);
  rig.launch(GPUPROF_CORRELATION_HOST | 9, 78);
  rig.correlator.on_host_op(sync(9, 5000, 5400));
  rig.correlator.on_gpu_op(Rig::kernel(9));
  const Batch batch = rig.take();
  CHECK(rig.rows(batch, profile::Op::kernel).front().first.stack == 77);
  CHECK(rig.rows(batch, profile::Op::sync).front().first.stack == 78);
}

TEST_CASE("ranges are paths, and equal paths of all processes are one") {
  Rig rig;
  rig.open(2, kPid + 1);
  rig.stack(77);
  for (const uint32_t source : {1u, 2u}) {
    const uint32_t base = source * 10;  // range ids differ between the sources
    rig.correlator.on_name(source, 3, "epoch");
    rig.correlator.on_name(source, 4, "step");
    rig.correlator.on_name(source, 5, "torch");
    rig.correlator.on_range(source, {.id = base, .domain_id = 5, .name_id = 3});
    rig.correlator.on_range(source, {.id = base + 1, .parent = base, .domain_id = 5, .name_id = 4});
  }
  rig.launch(1, 77, 5000, 11);
  rig.correlator.on_launch_stack(
      {.source = 2, .correlation = 1, .time_ns = 5000, .pid = kPid + 1, .tid = 6, .range = 21});
  rig.correlator.on_gpu_op(Rig::kernel(1));
  GpuOp other = Rig::kernel(1);
  other.source = 2;
  rig.correlator.on_gpu_op(other);
  const Batch batch = rig.take();
  REQUIRE(batch.ranges.size() == 2);
  CHECK(batch.ranges[1].parent == batch.ranges[0].id);
  CHECK(rig.names.at(index(batch.ranges[1].name)) == "step");
  CHECK(rig.names.at(index(batch.ranges[1].domain)) == "torch");
  for (const auto& [key, value] : rig.rows(batch, profile::Op::kernel)) {
    CHECK(key.range == batch.ranges[1].id);
  }
}

TEST_CASE("a range that arrives later in the poll iteration is awaited") {
  Rig rig;
  rig.stack(77);
  rig.launch(1, 77, 5000, 11);
  rig.correlator.on_gpu_op(Rig::kernel(1));
  CHECK(rig.take().rows.empty());
  rig.correlator.on_range(1, {.id = 11, .parent = 10, .name_id = 4});
  rig.correlator.on_range(1, {.id = 10, .name_id = 3});
  rig.correlator.on_name(1, 3, "epoch");
  rig.correlator.on_name(1, 4, "step");
  rig.correlator.end_iteration();
  const Batch batch = rig.take();
  REQUIRE(batch.ranges.size() == 2);
  CHECK(rig.work(batch).range == batch.ranges[1].id);
}

TEST_CASE("streams and threads beyond a limit share one entry") {
  Rig rig;
  rig.stack(77);
  constexpr uint64_t kMany = 3 * WorkSet::kMaxStreams;
  for (uint64_t i = 0; i < kMany; ++i) {
    rig.launch(i, 77);
    GpuOp op = Rig::kernel(i);
    op.stream = i;
    rig.correlator.on_gpu_op(op);
  }
  const Batch batch = rig.take();
  CHECK(batch.rows.size() == WorkSet::kMaxStreams + 1);
  uint64_t others = 0;
  uint64_t all = 0;
  for (const auto& [key, value] : rig.rows(batch, profile::Op::kernel)) {
    others += key.stream == UINT64_MAX ? value.count : 0;
    all += value.count;
  }
  CHECK(others == kMany - WorkSet::kMaxStreams);
  CHECK(all == kMany);

  for (uint32_t i = 0; i < 2 * WorkSet::kMaxThreads; ++i) {
    rig.correlator.on_launch_stack(
        {.source = 1, .correlation = i, .stack = 77, .time_ns = 1, .pid = kPid, .tid = 100 + i});
    rig.correlator.on_gpu_op(Rig::kernel(i));
  }
  CHECK(rig.take().rows.size() <= WorkSet::kMaxThreads + 1);
}

TEST_CASE("latency has the phases of launches, except graph nodes and times out of order") {
  Rig rig({.latency = true});
  rig.stack(77);
  const auto run = [&](uint64_t id, uint64_t call, uint64_t queued, uint64_t submitted, uint64_t node) {
    rig.launch(id, 77, call);
    GpuOp op = Rig::kernel(id, 100, 10'000);
    op.queued_ns = queued;
    op.submitted_ns = submitted;
    op.graph_node = node;
    rig.correlator.on_gpu_op(op);
  };
  run(1, 5000, 6000, 9000, 0);
  run(2, 5000, 4000, 9000, 0);  // queued before the call: only the phase from call to start is valid
  run(3, 5000, 6000, 9000, 1);
  rig.correlator.end_iteration();
  const Batch batch = rig.take();
  std::map<profile::Phase, gpuprof::record::Histogram> phases;
  for (const auto& one : batch.latencies) {
    phases[one.phase] = one.histogram;
  }
  CHECK(phases[profile::Phase::call_to_queued].count == 1);
  CHECK(phases[profile::Phase::call_to_queued].sum_ns == 1000);
  CHECK(phases[profile::Phase::queued_to_submitted].sum_ns == 3000);
  CHECK(phases[profile::Phase::submitted_to_start].sum_ns == 900);
  CHECK(phases[profile::Phase::call_to_start].count == 2);
  CHECK(phases[profile::Phase::call_to_start].sum_ns == 9800);
  CHECK(phases[profile::Phase::call_to_start].min_ns == 4900);
  uint64_t queue_ns = 0;
  for (const auto& [key, value] : batch.rows) {
    queue_ns += value.queue_ns;
  }
  CHECK(queue_ns == 3900 + 5900);
}

namespace {

// Returns the blocks of a launch: 3 of 4 blocks ran for `ns` each, one after the other, on one SM.
profile::Blocks three_blocks(uint64_t correlation, uint64_t ns) {
  static profile::Blocks::Bucket bucket;
  bucket = {profile::DurationBuckets::of(ns), 3};
  return {.launches = 1,
          .grid = 4,
          .blocks = 3,
          .span_ns = 3 * ns,
          .sum_ns = 3 * ns,
          .busy_ns = 3 * ns,
          .sm_ns = 3 * ns,
          .busiest_ns = 3 * ns,
          .mean_ns = 3 * ns,
          .concurrent = 1,
          .device_sms = 132,
          .slowest_ns = ns,
          .x = static_cast<uint32_t>(correlation),
          .correlation = correlation,
          .buckets = {&bucket, 1}};
}

uint64_t details_lost(const Batch& batch) {
  uint64_t count = 0;
  for (const profile::Loss& loss : batch.losses) {
    count += loss.reason == "details_lost" ? loss.count : 0;
  }
  return count;
}

}  // namespace

TEST_CASE("thread blocks are added up by the work of their launch, and its slice") {
  Rig rig;
  rig.stack(77);
  for (const uint64_t id : {1, 2, 3}) {
    rig.correlator.on_blocks(1, three_blocks(id, id == 2 ? 50 : 10));
    rig.launch(id, 77);
    rig.correlator.on_gpu_op(Rig::kernel(id, 100, id == 3 ? 2'000'000 : 10'000));
  }
  rig.correlator.end_iteration();
  const Batch batch = rig.take();
  REQUIRE(batch.blocks.size() == 2);
  const size_t first = batch.blocks[0].first.slice == 0 ? 0 : 1;
  const auto& [key, totals] = batch.blocks[first];
  CHECK(rig.works.at(key.work).op == profile::Op::kernel);
  CHECK(totals.sums.launches == 2);
  CHECK(totals.sums.grid == 8);
  CHECK(totals.sums.blocks == 6);
  CHECK(totals.sums.sum_ns == 180);
  CHECK(totals.sums.concurrent == 2);
  CHECK(totals.sums.device_sms == 132);
  CHECK(totals.sums.slowest_ns == 50);
  CHECK(totals.sums.x == 2);
  CHECK(totals.sums.correlation == 2);
  CHECK(totals.buckets == std::vector<profile::Blocks::Bucket>{{10, 3}, {50, 3}});
  CHECK(batch.blocks[1 - first].first.slice == 1);
  CHECK(batch.blocks[1 - first].second.sums.launches == 1);
  CHECK(details_lost(batch) == 0);
}

TEST_CASE("thread blocks wait with their work, and are counted if it does not arrive") {
  Rig rig;
  rig.correlator.on_blocks(1, three_blocks(1, 10));
  rig.stack(77);
  rig.launch(1, 77);
  GpuOp unnamed = Rig::kernel(1);
  unnamed.name_id = 99;
  rig.correlator.on_gpu_op(unnamed);  // waits for its name
  rig.correlator.end_iteration();
  CHECK(rig.take().blocks.empty());
  rig.correlator.on_name(1, 99, "late");
  rig.correlator.end_iteration();
  CHECK(rig.take().blocks.size() == 1);

  rig.correlator.on_blocks(1, three_blocks(2, 10));
  rig.correlator.on_blocks(1, three_blocks(2, 10));  // a launch has one record
  CHECK(details_lost(rig.take()) == 1);
  GpuOp node = Rig::kernel(2);
  node.graph_node = 9;
  rig.launch(2, 77);
  rig.correlator.on_gpu_op(node);  // of one launch, a graph may run many kernels
  CHECK(rig.take().blocks.empty());
  rig.correlator.on_blocks(9, three_blocks(3, 10));  // no such source
  gpuprof::test::fake_now_ns += gpuprof::record::WaitingBlocks::kKeepNs + 1;
  rig.correlator.end_iteration();
  CHECK(details_lost(rig.take()) == 1);
  rig.correlator.on_blocks(1, three_blocks(4, 10));
  rig.correlator.on_source_end(1);
  CHECK(details_lost(rig.take()) == 1);
}

TEST_CASE("thread blocks of work outside of the recording are left out without a loss") {
  Rig rig;
  rig.correlator.close_window(9000);
  rig.correlator.on_blocks(1, three_blocks(1, 10));
  rig.correlator.on_gpu_op(Rig::kernel(1));
  rig.iterate(60);
  rig.correlator.on_source_end(1);
  const Batch batch = rig.take();
  CHECK(batch.rows.empty());
  CHECK(batch.blocks.empty());
  CHECK(details_lost(batch) == 0);
}

TEST_CASE("the number of thread blocks that wait for their work is limited") {
  Rig rig;
  constexpr uint64_t kMore = 10;
  for (uint64_t id = 1; id <= gpuprof::record::WaitingBlocks::kMaxLaunches + kMore; ++id) {
    rig.correlator.on_blocks(1, three_blocks(id, 10));
  }
  CHECK(details_lost(rig.take()) == kMore);
}

TEST_CASE("thread blocks whose sums would overflow are refused") {
  Rig rig;
  rig.stack(77);
  for (uint64_t id = 1; id <= 5; ++id) {
    profile::Blocks blocks = three_blocks(id, 10);
    blocks.sm_ns = uint64_t{1} << 60;
    rig.correlator.on_blocks(1, blocks);
    rig.launch(id, 77);
    rig.correlator.on_gpu_op(Rig::kernel(id));
  }
  const Batch batch = rig.take();
  REQUIRE(batch.blocks.size() == 1);
  CHECK(batch.blocks[0].second.sums.launches == 4);
  CHECK(std::count_if(batch.losses.begin(), batch.losses.end(),
                      [](const profile::Loss& loss) { return loss.reason == "malformed" && loss.count == 1; }) == 1);
}

TEST_CASE("a row has a histogram of the durations of its GPU work") {
  Rig rig;
  for (const uint64_t ns : {1000, 1001, 40, 700}) {
    rig.launch(ns, 77);
    rig.correlator.on_gpu_op(Rig::kernel(ns, ns));
  }
  rig.launch(GPUPROF_CORRELATION_HOST | 9, 77);
  rig.correlator.on_host_op(sync(9, 5000, 5400));
  rig.correlator.end_iteration();
  using Buckets = profile::DurationBuckets;
  const std::vector<profile::Duration::Bucket> expected = {{40, 1}, {Buckets::of(700), 1}, {Buckets::of(1000), 2}};
  size_t histograms = 0;
  for (const auto& [key, value] : rig.take().rows) {
    histograms += value.durations.empty() ? 0 : 1;
    CHECK((value.durations.empty() || value.durations == expected));
  }
  CHECK(histograms == 1);
}

TEST_CASE("the timeline has every event, call and range") {
  Rig rig({.timeline = true});
  rig.stack(77);
  rig.correlator.on_name(1, 3, "step");
  rig.correlator.on_range(1, {.id = 4, .name_id = 3});
  rig.launch(1, 77);
  rig.correlator.on_gpu_op(Rig::kernel(1));
  rig.correlator.on_call(1, {.correlation = 1, .start_ns = 4990, .end_ns = 5010, .name_id = 2, .tid = 5});
  rig.correlator.on_call(1, {.correlation = 2, .start_ns = 7000, .end_ns = 7010, .name_id = 2, .tid = 5});
  rig.correlator.on_span(1, {.start_ns = 4000, .end_ns = 6000, .range = 4, .tid = 5});
  rig.launch(GPUPROF_CORRELATION_HOST | 9, 77);
  rig.correlator.on_host_op(sync(9, 5000, 5400));
  rig.correlator.end_iteration();
  const Batch batch = rig.take();
  REQUIRE(batch.events.size() == 2);
  CHECK(batch.events[0].correlation == 1);
  CHECK(batch.events[0].end_ns == 10'000);
  REQUIRE(batch.calls.size() == 2);
  CHECK(batch.calls[0].call.start_ns == 5000);  // the launch's time, as in latencies
  CHECK(batch.calls[1].call.start_ns == 7000);  // its launch is unknown
  CHECK(rig.told(batch.calls[0].stack) == 77);  // the call's work arrived before its stack
  CHECK(rig.names.at(index(batch.calls[0].call.function)) == "cudaStreamSynchronize");
  REQUIRE(batch.spans.size() == 1);
  CHECK(batch.spans[0].range == batch.ranges.at(0).id);
}

TEST_CASE("without --timeline no single events are kept") {
  Rig rig;
  rig.correlator.on_gpu_op(Rig::kernel(1));
  rig.correlator.on_call(1, {.correlation = 1, .start_ns = 1, .end_ns = 2});
  rig.correlator.on_span(1, {.start_ns = 1, .end_ns = 2, .range = 1});
  rig.correlator.end_iteration();
  const Batch batch = rig.take();
  CHECK((batch.events.empty() && batch.calls.empty() && batch.spans.empty()));
}

TEST_CASE("busy and idle time add up to the window, and a wait is charged for the idle time it covers") {
  Rig rig;
  rig.stack(77);
  rig.launch(1, 77);
  rig.launch(2, 77);
  rig.launch(GPUPROF_CORRELATION_HOST | 9, 77);
  rig.correlator.on_host_op(sync(9, 20'000, 50'000));
  rig.correlator.on_gpu_op(Rig::kernel(1, 1000, 10'000));
  rig.correlator.on_gpu_op(Rig::kernel(2, 1000, 60'000));
  const Batch batch = finish(rig);
  REQUIRE(batch.windows.size() == 1);
  uint64_t busy = 0;
  uint64_t idle = 0;
  for (const auto& share : batch.shares) {
    busy += share.busy_ns;
  }
  uint64_t waiting = 0;
  for (const auto& one : batch.idle) {
    idle += one.ns;
    const auto work = rig.works.find(one.work);
    waiting += work != rig.works.end() && work->second.op == profile::Op::sync ? one.ns : 0;
  }
  CHECK(busy == 2000);
  CHECK(waiting == 30'000);
  CHECK(busy + idle == batch.windows[0].end_ns - batch.windows[0].start_ns);
}

TEST_CASE("only calls of 100 us or longer get the idle time that they cover") {
  Rig rig;
  rig.stack(77);
  rig.launch(1, 77);
  rig.launch(2, 77);
  const auto call = [&](uint64_t id, uint64_t start, uint64_t end) {
    HostOp op = sync(id, start, end);
    op.op = GPUPROF_HOST_CALL;
    rig.launch(op.correlation, 77, end);
    rig.correlator.on_host_op(op);
  };
  call(8, 20'000, 119'999);
  call(9, 200'000, 300'000);
  rig.correlator.on_gpu_op(Rig::kernel(1, 1000, 10'000));
  rig.correlator.on_gpu_op(Rig::kernel(2, 1000, 400'000));
  const Batch batch = finish(rig);
  uint64_t in_calls = 0;
  for (const auto& one : batch.idle) {
    const auto work = rig.works.find(one.work);
    in_calls += work != rig.works.end() && work->second.op == profile::Op::call ? one.ns : 0;
  }
  CHECK(in_calls == 100'000);
  const auto calls = rig.rows(batch, profile::Op::call);
  REQUIRE(calls.size() == 1);
  CHECK(calls.front().second.count == 2);  // short calls still have a row
}

TEST_CASE("with CPU samples, idle time belongs to what the launching thread computed, or is not explained") {
  Rig rig({.cpu_period_ns = 10'000'000});
  rig.stack(77);
  rig.stack(78);
  rig.launch(1, 77);
  rig.launch(2, 77);
  const uint64_t sample = GPUPROF_CORRELATION_HOST | GPUPROF_CORRELATION_CPU | 1;
  rig.launch(sample, 78);
  rig.correlator.on_host_op({.source = 1,
                             .correlation = sample,
                             .start_ns = 20'000'000,
                             .end_ns = 50'000'000,
                             .count = 1,
                             .tid = 5,
                             .op = GPUPROF_HOST_CPU});
  fake_now_ns = 100'000'000;
  rig.correlator.on_gpu_op(Rig::kernel(1, 1000, 10'000));
  rig.correlator.on_gpu_op(Rig::kernel(2, 1000, 60'012'000));
  const Batch batch = finish(rig);
  std::map<std::pair<profile::Op, uint64_t>, uint64_t> idle;
  for (const auto& one : batch.idle) {
    const auto work = rig.works.find(one.work);
    if (work != rig.works.end()) {
      idle[{work->second.op, work->second.stack}] += one.ns;
      CHECK(work->second.tid == 5);
    }
  }
  CHECK(idle.at({profile::Op::cpu, 78}) == 30'000'000);
  CHECK(idle.at({profile::Op::off_cpu, 0}) == 8'000 + 19'990'000 + 10'011'000);
  CHECK(idle.size() == 2);
  const auto rows = rig.rows(batch, profile::Op::cpu);
  REQUIRE(rows.size() == 1);
  CHECK(rows.front().second.sum_ns == 30'000'000);
  CHECK(rig.correlator.totals().launches == 0);  // samples do not count as launches
}

TEST_CASE("with CPU samples, gaps of 1 ms between kernels of 9 ms are not explained") {
  constexpr uint64_t kMs = 1'000'000;
  Rig rig({.cpu_period_ns = 1'000'000'000 / 99});
  rig.stack(77);
  fake_now_ns = 200 * kMs;
  for (uint64_t step = 1; step <= 10; ++step) {
    const uint64_t end_ns = 1000 + step * 10 * kMs;
    rig.launch(step, 77);
    rig.correlator.on_gpu_op(Rig::kernel(step, 9 * kMs, end_ns));
    const uint64_t sample = GPUPROF_CORRELATION_HOST | GPUPROF_CORRELATION_CPU | step;
    rig.launch(sample, 77);
    rig.correlator.on_host_op({.source = 1,
                               .correlation = sample,
                               .start_ns = end_ns - 10 * kMs,
                               .end_ns = end_ns,
                               .count = 1,
                               .tid = 5,
                               .op = GPUPROF_HOST_CPU});
  }
  const Batch batch = finish(rig);
  uint64_t not_sampled = 0;
  for (const auto& one : batch.idle) {
    if (const auto work = rig.works.find(one.work); work != rig.works.end()) {
      CHECK(work->second.op == profile::Op::off_cpu);
      CHECK(work->second.name == 0);
      not_sampled += one.ns;
    }
  }
  CHECK(not_sampled == 10 * kMs);
}

TEST_CASE("no time is swept before the recording began") {
  Rig rig;  // began at 1000 ns
  fake_now_ns = 1'000'000'000;
  rig.correlator.end_iteration();
  CHECK(rig.take().swept_ns == 0);
  fake_now_ns = 4'000'000'000;
  rig.correlator.end_iteration();
  CHECK(rig.take().swept_ns == 1'000'000'000);
}

TEST_CASE("an early sweep is refused while more work of a known or unknown launch may run") {
  constexpr uint64_t kSecond = 1'000'000'000;
  struct Case {
    bool is_launched = true;
    bool more = false;
    uint64_t node = 0;
    uint64_t end_ns = 19 * kSecond;
    bool is_early = false;
  };
  for (const Case& one : {Case{.is_early = true}, Case{.more = true}, Case{.node = 3}, Case{.is_launched = false},
                          Case{.more = true, .end_ns = 16 * kSecond, .is_early = true}}) {
    Rig rig;
    rig.stack(77);
    fake_now_ns = 20 * kSecond;
    if (one.is_launched) {
      rig.launch(1, 77);
    }
    GpuOp op = Rig::kernel(1, 1000, one.end_ns);
    op.more = one.more;
    op.graph_node = one.node;
    rig.correlator.on_gpu_op(op);
    rig.correlator.end_iteration();
    rig.correlator.sweep_early(19'500'000'000);
    CAPTURE(one.more, one.node, one.is_launched, one.end_ns);
    CHECK(rig.take().swept_ns == (one.is_early ? 19'500'000'000 : 17 * kSecond));
  }
}

TEST_CASE("the sweep waits for a launch whose work is pending") {
  constexpr uint64_t kSecond = 1'000'000'000;
  Rig rig;
  rig.stack(77);
  fake_now_ns = 100 * kSecond;
  rig.launch(1, 77, 95 * kSecond);  // a long kernel, still running
  rig.launch(2, 77, 95 * kSecond);
  rig.correlator.on_gpu_op(Rig::kernel(2, 10, 96 * kSecond));
  rig.correlator.end_iteration();
  CHECK(rig.take().shares.empty());
  fake_now_ns = 110 * kSecond;
  rig.correlator.end_iteration();
  CHECK(rig.take().shares.empty());
  rig.correlator.on_gpu_op(Rig::kernel(1, 10 * kSecond, 106 * kSecond));
  fake_now_ns = 111 * kSecond;
  rig.correlator.end_iteration();
  const Batch batch = rig.take();
  CHECK(batch.shares.size() >= 1);
  CHECK(rig.correlator.late_ns() == 0);
  // Launch 3 never gets work. The calculation of busy and idle time waits for this work for one minute.
  rig.launch(3, 77, 111 * kSecond);
  rig.launch(4, 77, 112 * kSecond);
  rig.correlator.on_gpu_op(Rig::kernel(4, 10, 113 * kSecond));
  fake_now_ns = 170 * kSecond;
  rig.correlator.end_iteration();
  CHECK(rig.take().shares.empty());
  fake_now_ns = 172 * kSecond;
  rig.correlator.end_iteration();
  CHECK(rig.take().shares.size() == 1);
}

TEST_CASE("GPU times ahead of the recorder's clock are not swept") {
  Rig rig;
  rig.correlator.on_gpu_op(Rig::kernel(1, 30, uint64_t{1} << 60));
  rig.correlator.end_iteration(true);
  CHECK(rig.correlator.totals().gpu_ns == 30);
  CHECK(rig.correlator.late_ns() == 30);
}

TEST_CASE("work launched while recording was off is not recorded") {
  Rig rig;
  rig.stack(77);
  rig.launch(1, 77);
  rig.correlator.close_window(20'000);
  rig.correlator.on_gpu_op(Rig::kernel(1, 10, 30'000));  // launched before recording was switched off
  rig.correlator.on_gpu_op(Rig::kernel(2, 10, 40'000));
  rig.correlator.open_window(50'000);
  rig.correlator.on_gpu_op(Rig::kernel(3, 10, 60'000));  // launched before the window, but runs in it
  rig.launch(5, 77, 55'000);
  rig.correlator.on_gpu_op(Rig::kernel(5, 10, 61'000));
  rig.correlator.on_gpu_op(Rig::kernel(6, 10, 62'000));  // its launch event was lost
  rig.correlator.end_iteration(true);
  CHECK(rig.correlator.totals().gpu_records == 3);
  CHECK(rig.correlator.totals().off_records == 2);
  CHECK(coverage(finish(rig))["without_launch"] == 1);
}

TEST_CASE("with a duty cycle, work counts with the weight of the window in which it was launched") {
  Rig rig({.duty_cycle = true});  // has opened a window at 1000 with the weight 1
  rig.stack(77);
  rig.launch(1, 77, 5000);
  rig.correlator.close_window(20'000);
  rig.correlator.open_window(50'000, 7);
  rig.launch(2, 77, 30'000);  // between the windows
  rig.launch(3, 77, 50'000);
  rig.launch(4, 77, 90'000);  // after the second window
  rig.correlator.close_window(60'000);
  rig.correlator.on_gpu_op(Rig::kernel(1, 10, 5500));
  rig.correlator.on_gpu_op(Rig::kernel(2, 10, 55'000));  // runs in a window, but was launched before
  rig.correlator.on_gpu_op(Rig::kernel(3, 10, 2'070'000));
  rig.correlator.on_gpu_op(Rig::kernel(4, 10, 95'000));
  rig.correlator.end_iteration(true);
  CHECK(rig.correlator.totals().gpu_records == 8);
  CHECK(rig.correlator.totals().gpu_ns == 80);
  CHECK(rig.correlator.totals().with_stack == 8);
  CHECK(rig.correlator.totals().off_records == 2);
  Counters seen = counters(4);
  seen.counts[GPUPROF_COUNT_PASSED] = 10;
  seen.counts[GPUPROF_COUNT_EXTRAPOLATED] = 3;
  rig.correlator.on_counters(1, seen);
  rig.correlator.finish();
  using gpuprof::profile::CoverageCount;
  const auto& counts = rig.correlator.totals().coverage;
  CHECK(counts[CoverageCount::launches] == 2);
  CHECK(counts[CoverageCount::matched] == 2);
  CHECK(counts[CoverageCount::between_windows] == 12);
  CHECK(counts[CoverageCount::represented] == 14);
  CHECK(counts[CoverageCount::weighted] == 8);
  CHECK(counts[CoverageCount::extrapolated] == 3);
  REQUIRE(rig.correlator.totals().estimated.size() == 1);
  const gpuprof::record::Estimated& process = rig.correlator.totals().estimated.begin()->second;
  CHECK(process.gpu_records == 8);
  CHECK(process.gpu_ns == 80);
  CHECK(process.represented == 14);
  CHECK(process.weighted == 8);
  const Batch batch = rig.correlator.take_batch();
  REQUIRE(batch.rows.size() == 1);
  CHECK(batch.rows[0].first.slice == 0);  // the slice of the windows
  REQUIRE(batch.weighted.size() == 1);
  CHECK(batch.weighted[0].slice == 0);
  CHECK(batch.weighted[0].count == 8);
  CHECK(batch.rows[0].second.count == 8);
  CHECK(batch.rows[0].second.sum_ns == 80);
  CHECK(batch.rows[0].second.max_ns == 10);
  CHECK(batch.shares.empty());
}

TEST_CASE("with a duty cycle, work of lost launches counts with its weight, too") {
  Rig rig({.duty_cycle = true});
  rig.correlator.close_window(20'000);
  rig.correlator.open_window(50'000, 7);
  rig.correlator.close_window(60'000);
  rig.correlator.on_gpu_op(Rig::kernel(1, 10, 55'000));
  rig.correlator.on_gpu_op(Rig::kernel(2, 10, 40'000));  // between the windows
  rig.correlator.end_iteration(true);
  rig.correlator.on_counters(1, counters(2));
  rig.correlator.finish();
  using gpuprof::profile::CoverageCount;
  const auto& counts = rig.correlator.totals().coverage;
  CHECK(rig.correlator.totals().gpu_records == 7);
  CHECK(counts[CoverageCount::weighted] == 7);
  CHECK(counts[CoverageCount::matched] == 1);
  CHECK(counts[CoverageCount::between_windows] == 1);
  CHECK(counts[CoverageCount::represented] == 2);
}

TEST_CASE("with a duty cycle, only calls that begin and end in one window count") {
  Rig rig({.duty_cycle = true});
  rig.stack(77);
  rig.correlator.close_window(20'000);
  rig.correlator.open_window(50'000, 7);
  rig.correlator.close_window(60'000);
  rig.correlator.open_window(70'000, 3);
  const auto call = [&](uint64_t id, uint64_t start, uint64_t end) {
    HostOp op = sync(id, start, end);
    op.op = GPUPROF_HOST_CALL;
    rig.launch(op.correlation, 77, end);  // a call's stack is often taken at its end
    rig.correlator.on_host_op(op);
  };
  call(1, 51'000, 52'000);
  call(2, 45'000, 55'000);  // begins between the windows
  call(3, 58'000, 61'000);  // ends between the windows
  call(4, 59'000, 71'000);  // ends in the next window
  call(5, 61'000, 69'000);
  rig.correlator.end_iteration(true);
  const auto calls = rig.rows(rig.take(), profile::Op::call);
  REQUIRE(calls.size() == 1);
  CHECK(calls.front().second.count == 7);
  CHECK(calls.front().second.sum_ns == 7'000);
  CHECK(rig.correlator.totals().off_records == 0);  // calls are not GPU records
}

TEST_CASE("sums of false times stay within 64 bits, and the excess counts as malformed") {
  Rig rig({.latency = true});
  constexpr uint64_t kLong = uint64_t{1} << 50;
  rig.correlator.end_iteration();
  for (int i = 0; i < 20'000; ++i) {
    GpuOp op = Rig::kernel(1, kLong, 2 * kLong);
    op.bytes = kLong;
    rig.correlator.on_gpu_op(op);
    HostOp host = sync(1, 1, 1 + kLong);
    host.correlation = 0;
    rig.correlator.on_host_op(host);
  }
  const Batch batch = rig.take();
  CHECK(rig.correlator.totals().gpu_ns == uint64_t{1} << 62);
  CHECK(rig.correlator.totals().gpu_records == 4096);
  CHECK(rig.correlator.totals().lost.at("malformed") == 2 * (20'000 - 4096));
  for (const auto& [key, value] : rig.rows(batch, profile::Op::kernel)) {
    CHECK(value.sum_ns == value.count * kLong);
    CHECK(value.bytes == value.count * kLong);
  }
}
