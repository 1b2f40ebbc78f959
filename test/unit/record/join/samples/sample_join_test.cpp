
#include "catch.h"
#include "join_rig.h"

using gpuprof::backend::Sample;
using gpuprof::backend::SamplingUnit;
using gpuprof::record::Batch;
using gpuprof::record::kMaxPending;
using gpuprof::record::kMaxRetries;
using gpuprof::record::MemoryBudget;
using gpuprof::record::SampleRows;
using gpuprof::record::WorkKey;
using gpuprof::test::coverage;
using gpuprof::test::fake_now_ns;
using gpuprof::test::kPid;
using gpuprof::test::Rig;
namespace profile = gpuprof::profile;

namespace {

// Source 1 takes samples and has the code locations 1 and 2.
struct SampledRig : Rig {
  explicit SampledRig(gpuprof::record::JoinOptions options = {}) : Rig(std::move(options)) {
    correlator.on_traits(1, {.takes_samples = true});
    correlator.on_gpu_module(1, {.id = 1, .name = "k.cubin", .hash = "aa"});
    correlator.on_gpu_place(1, {.id = 1, .module = 1, .function = "k", .offset = 16});
    correlator.on_gpu_place(1, {.id = 2, .module = 1, .function = "k", .offset = 32});
    stack(77);
  }

  static Sample sample(uint64_t correlation, uint64_t count = 1) {
    return {.source = 1,
            .correlation = correlation,
            .time_ns = 10'000,
            .count = count,
            .period = 512,
            .reason = "wait",
            .name_id = 1,
            .place = 1,
            .device = 0};
  }
  void take_sample(uint64_t correlation, uint64_t count = 1) { correlator.on_sample(sample(correlation, count)); }

  std::pair<WorkKey, uint64_t> only(const Batch& batch) {
    REQUIRE(batch.samples.size() == 1);
    return {works.at(batch.samples[0].first.work), batch.samples[0].second};
  }
  [[nodiscard]] uint64_t dropped() const {
    const auto& lost = correlator.totals().lost;
    const auto found = lost.find("samples_dropped");
    return found == lost.end() ? 0 : found->second;
  }
};

uint64_t sum(const Batch& batch) {
  uint64_t all = 0;
  for (const auto& [key, count] : batch.samples) {
    all += count;
  }
  return all;
}

}  // namespace

TEST_CASE("a sample and its work are joined in either order") {
  SampledRig rig;
  rig.take_sample(1, 2);
  rig.launch(1, 77);
  rig.correlator.end_iteration();
  rig.correlator.on_gpu_op(Rig::kernel(1));
  rig.iterate(static_cast<int>(kMaxRetries));
  rig.take_sample(1, 3);
  rig.correlator.end_iteration();
  const Batch batch = rig.take();
  const auto [work, count] = rig.only(batch);
  CHECK(count == 5);
  CHECK(work.stack == 77);
  CHECK(work.tid == 5);
  REQUIRE(batch.rows.size() == 1);
  CHECK(batch.samples[0].first.work == batch.rows[0].first.work);
  CHECK(rig.correlator.totals().samples == 5);
  CHECK(rig.correlator.totals().gpu_records == 1);
}

TEST_CASE("launches of a sampling source are kept for late samples, but not forever") {
  // Returns the thread of a sample that arrives `ns` after the work of its launch. Source 2 takes no samples.
  const auto thread_after = [](uint64_t ns, uint32_t source) {
    SampledRig rig;
    rig.open(2);
    rig.correlator.on_launch_stack({.source = source, .correlation = 1, .time_ns = 5000, .pid = kPid, .tid = 5});
    auto work = Rig::kernel(1);
    work.source = source;
    rig.correlator.on_gpu_op(work);
    fake_now_ns += ns;
    rig.iterate(2);
    rig.take();
    Sample late = SampledRig::sample(1);
    late.source = source;
    rig.correlator.on_sample(late);
    rig.correlator.end_iteration(true);
    const Batch batch = rig.take();
    REQUIRE(batch.samples.size() == 1);
    return rig.works.at(batch.samples[0].first.work).tid;
  };
  CHECK(thread_after(2'000'000'000, 1) == 5);
  CHECK(thread_after(4'000'000'000, 1) == 0);
  CHECK(thread_after(0, 2) == 0);  // the launch is not kept, as the source takes no samples
}

TEST_CASE("samples have one row for each slice, work, code location, reason, period and flag") {
  SampledRig rig;
  rig.launch(1, 77);
  rig.take_sample(1);
  rig.take_sample(1);
  Sample other = SampledRig::sample(1);
  other.place = 2;
  rig.correlator.on_sample(other);
  other = SampledRig::sample(1);
  other.reason = "selected";
  rig.correlator.on_sample(other);
  other = SampledRig::sample(1);
  other.unit = SamplingUnit::ns;
  rig.correlator.on_sample(other);
  other = SampledRig::sample(1);
  other.estimated = true;
  rig.correlator.on_sample(other);
  other = SampledRig::sample(1);
  other.time_ns += 1'000'000;  // in the next slice
  rig.correlator.on_sample(other);
  other = SampledRig::sample(1);
  other.stream = 3;
  rig.correlator.on_sample(other);
  const Batch batch = rig.take();
  CHECK(batch.samples.size() == 7);
  CHECK(sum(batch) == 8);
  CHECK(batch.gpu_modules.size() == 1);
  CHECK(batch.gpu_places.size() == 2);
  REQUIRE(batch.samplings.size() == 2);
  CHECK(batch.samplings[0].period == 512);
  CHECK(rig.names.at(index(batch.samplings[0].unit)) == "cycles");
  CHECK(rig.names.at(index(batch.samplings[1].unit)) == "ns");
  CHECK(std::count_if(batch.samples.begin(), batch.samples.end(),
                      [](const auto& row) { return row.first.flags == profile::kSampleEstimated; }) == 1);
  CHECK(rig.take().samples.empty());
}

TEST_CASE("a sample whose launch never arrives has no stack and is counted") {
  SampledRig rig;
  rig.take_sample(4711, 6);
  rig.iterate(static_cast<int>(kMaxRetries) - 1);
  CHECK(rig.take().samples.empty());
  rig.iterate(1);
  const auto [work, count] = rig.only(rig.take());
  CHECK(count == 6);
  CHECK(work.stack == 0);
  CHECK(work.process == profile::ProcessId{1});
  CHECK(rig.dropped() == 0);
  rig.correlator.close_window(fake_now_ns);
  rig.correlator.finish();
  CHECK(coverage(rig.take())["samples_without_launch"] == 6);
}

TEST_CASE("a sample without a launch id has its own thread and range, and needs no launch") {
  SampledRig rig;
  rig.correlator.on_thread(kPid, 9, "worker");
  rig.correlator.on_name(1, 3, "step");
  rig.correlator.on_range(1, {.id = 4, .name_id = 3});
  Sample own = SampledRig::sample(0, 7);
  own.tid = 9;
  own.range = 4;
  own.stream = 2;
  rig.correlator.on_sample(own);
  rig.correlator.close_window(fake_now_ns);
  rig.correlator.finish();
  Batch batch = rig.take();
  const auto [work, count] = rig.only(batch);
  CHECK(count == 7);
  CHECK(work.tid == 9);
  CHECK(rig.names.at(work.thread) == "worker");
  CHECK(work.range == batch.ranges.at(0).id);
  CHECK(work.stream == 2);
  CHECK(profile::index(work.device) != 0);
  CHECK(rig.names.at(work.name) == "k");
  CHECK(coverage(batch)["samples_without_launch"] == 0);
}

TEST_CASE("a sample waits for its kernel's name, and is written without it after a while") {
  SampledRig rig;
  Sample early = SampledRig::sample(0);
  early.name_id = 30;
  rig.correlator.on_sample(early);
  rig.correlator.end_iteration();
  CHECK(rig.take().samples.empty());
  rig.correlator.on_name(1, 30, "late");
  rig.correlator.end_iteration();
  CHECK(rig.names.at(rig.only(rig.take()).first.name) == "late");

  early.name_id = 31;
  rig.correlator.on_sample(early);
  rig.iterate(static_cast<int>(kMaxRetries));
  CHECK(rig.names.at(rig.only(rig.take()).first.name) ==
        "[unnamed kernel]");  // the missing name counts as a loss only for GPU work
  CHECK(rig.correlator.totals().lost.empty());
}

TEST_CASE("a sample without a launch is recorded if its own time is within a window") {
  SampledRig rig;
  rig.launch(1, 77);
  rig.correlator.close_window(20'000);
  rig.correlator.open_window(40'000);
  const auto at = [](uint64_t correlation, uint64_t ns) {
    Sample made = SampledRig::sample(correlation);
    made.time_ns = ns;
    return made;
  };
  rig.correlator.on_sample(at(0, 500));
  rig.correlator.on_sample(at(0, 30'000));
  rig.correlator.on_sample(at(4711, 30'000));
  rig.correlator.on_sample(at(0, 19'000));
  rig.correlator.on_sample(at(0, 50'000));
  rig.correlator.on_sample(at(1, 30'000));  // its launch was made while recording was on
  rig.correlator.end_iteration(true);
  CHECK(sum(rig.take()) == 3);
  CHECK(rig.correlator.totals().samples == 3);
  CHECK(rig.correlator.totals().off_samples == 3);
  CHECK(rig.dropped() == 0);
}

TEST_CASE("samples dropped by the source, or received after its end, are counted as lost") {
  SampledRig rig;
  rig.correlator.on_samples_dropped(1, 11);
  rig.correlator.on_samples_dropped(1, 2);
  rig.take_sample(99, 4);
  rig.correlator.on_source_end(1);
  CHECK(rig.correlator.totals().samples == 4);  // a sample no longer waits for its launch once its source has ended
  rig.take_sample(0, 5);
  rig.correlator.on_samples_dropped(1, 3);
  CHECK(rig.dropped() == 21);
  CHECK(sum(rig.take()) == 4);
}

TEST_CASE("the number of samples stays within 64 bits for any source") {
  SampledRig rig;
  rig.take_sample(0, UINT64_MAX);
  rig.correlator.on_samples_dropped(1, UINT64_MAX);
  rig.take_sample(0, uint64_t{1} << 62U);
  rig.correlator.on_samples_dropped(1, 1);
  const Batch batch = rig.take();
  CHECK(sum(batch) == uint64_t{1} << 62U);
  CHECK(rig.dropped() == 3);  // a rejected count that is too large counts as one dropped sample
  CHECK(rig.correlator.totals().lost.size() == 1);
}

TEST_CASE("the number of distinct sampling periods is limited, and later periods are unknown") {
  SampledRig rig;
  Sample made = SampledRig::sample(0);
  for (size_t i = 1; i <= SampleRows::kMaxSamplings + 2; ++i) {
    made.period = i;
    rig.correlator.on_sample(made);
  }
  const Batch batch = rig.take();
  CHECK(batch.samplings.size() == SampleRows::kMaxSamplings);
  CHECK(batch.samples.size() == SampleRows::kMaxSamplings + 1);
  CHECK(sum(batch) == SampleRows::kMaxSamplings + 2);
}

TEST_CASE("the number of pending samples is limited, and later samples have no launch") {
  SampledRig rig;
  for (size_t i = 0; i < kMaxPending + 10; ++i) {
    rig.take_sample(1000 + i);
  }
  CHECK(sum(rig.take()) == 10);
  rig.correlator.end_iteration(true);
  CHECK(sum(rig.take()) == kMaxPending);
}

TEST_CASE("at the memory limit samples are counted with less detail") {
  uint64_t used = 0;
  gpuprof::record::JoinOptions options;
  options.memory = std::make_shared<MemoryBudget>([&used] { return used; });
  SampledRig rig(options);
  rig.launch(1, 77);
  rig.take_sample(1);
  used = MemoryBudget::kLimit;
  options.memory->look();
  rig.take_sample(1);
  Sample other = SampledRig::sample(1);
  other.place = 2;
  rig.correlator.on_sample(other);
  other.time_ns += 7'000'000;
  rig.correlator.on_sample(other);
  const Batch batch = rig.take();
  CHECK(batch.samples.size() == 2);
  CHECK(sum(batch) == 4);
  for (const auto& [key, count] : batch.samples) {
    CHECK(count == 2);
  }
  CHECK(options.memory->left_out() == 2);
}

TEST_CASE("samples of a graph node belong to its work, and samples of excluded work are excluded") {
  SampledRig rig;
  rig.launch(1, 77);
  rig.launch(GPUPROF_CORRELATION_NODE | 30, 78);
  rig.correlator.on_graph_node(1, {.node = 30, .launch = 0, .time_ns = 1});
  auto node = Rig::kernel(1);
  node.graph_node = 30;
  node.more = true;
  rig.correlator.on_gpu_op(node);
  Sample taken = SampledRig::sample(1);
  taken.graph_node = 30;
  rig.correlator.on_sample(taken);
  taken.outside = true;
  rig.correlator.on_sample(taken);
  rig.correlator.end_iteration(true);
  const Batch batch = rig.take();
  REQUIRE(batch.rows.size() == 1);
  REQUIRE(batch.samples.size() == 1);
  CHECK(batch.samples[0].second == 1);
  CHECK(batch.samples[0].first.work == batch.rows[0].first.work);
  CHECK((rig.work(batch).flags & profile::kWorkGraphNode) != 0);
}
