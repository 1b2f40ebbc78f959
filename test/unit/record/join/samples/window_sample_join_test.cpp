// Tests how samples without a launch id are apportioned among the launches of their kernel, in proportion to measured
// time.
#include "record/join/samples/window_sample_join.h"

#include "base/clock.h"
#include "catch.h"
#include "join_rig.h"

using gpuprof::backend::LocationSamples;
using gpuprof::record::Batch;
using gpuprof::record::CodeFacts;
using gpuprof::record::CodeReader;
using gpuprof::record::JoinOptions;
using gpuprof::record::SampledCode;
using gpuprof::record::WindowSampleJoin;
using gpuprof::test::coverage;
using gpuprof::test::fake_now_ns;
using gpuprof::test::Rig;
namespace profile = gpuprof::profile;

namespace {

constexpr uint64_t kSharingMs = 1'000'000;
constexpr uint32_t kSharingWait = 11;  // name ids of stall reasons
constexpr uint32_t kSelected = 12;
constexpr uint32_t kHelper = 13;  // name id of a function

struct FakeModules final : CodeReader {
  [[nodiscard]] bool may_come(uint32_t, uint64_t) const override { return !there; }
  const CodeFacts* facts(uint32_t, uint64_t) override { return there ? &known : nullptr; }
  std::vector<gpuprof::symbolize::SourceFrame> frames(uint32_t, uint64_t, std::string_view function,
                                                      uint64_t offset) override {
    ++asked;
    return there ? std::vector<gpuprof::symbolize::SourceFrame>{{std::string(function), "a.cu",
                                                                 static_cast<uint32_t>(offset)}}
                 : std::vector<gpuprof::symbolize::SourceFrame>{};
  }
  std::string kernel_of(uint32_t, uint64_t, std::string_view function) override {
    return function == "helper" ? "k" : "";
  }
  uint64_t code_bytes(uint32_t, uint64_t, std::string_view) override { return there ? 0x200 : 0; }
  bool there = true;
  CodeFacts known{"sm_90.cubin", "c0ffee"};
  int asked = 0;
};

JoinOptions sampling(FakeModules* code) {
  JoinOptions options;
  options.sampling.samples = true;
  options.code_reader = code;
  return options;
}

struct SharingRig : Rig {
  explicit SharingRig(FakeModules* code = nullptr) : Rig(sampling(code)) {
    correlator.on_name(1, kSharingWait, "wait");
    correlator.on_name(1, kSelected, "selected");
    correlator.on_name(1, kHelper, "helper");
    stack(77);
    stack(88);
  }

  void run(uint64_t correlation, uint64_t stack_id, uint64_t ns, uint64_t end_ns) {
    launch(correlation, stack_id);
    correlator.on_gpu_op(kernel(correlation, ns, end_ns));
  }
  void samples(uint32_t window, uint64_t offset, uint32_t wait, uint32_t selected = 0, uint32_t function = 1,
               uint64_t module = 7, uint64_t correlation = 0) {
    const std::vector<LocationSamples::Reason> reasons = {{kSharingWait, wait}, {kSelected, selected}};
    correlator.on_location_samples(1, {.module = module,
                                       .offset = offset,
                                       .function_id = function,
                                       .window = window,
                                       .correlation = correlation,
                                       .reasons = std::span(reasons).first(selected > 0 ? 2 : 1)});
  }
  void window(uint32_t number, uint64_t handed, uint64_t dropped = 0, uint64_t foreign = 0,
              uint64_t start = 2 * kSharingMs, uint64_t end = 900 * kSharingMs) {
    correlator.on_sample_window(1, {.start_ns = start,
                                    .end_ns = end,
                                    .handed = handed,
                                    .dropped = dropped,
                                    .foreign = foreign,
                                    .period = 2048,
                                    .window = number,
                                    .device = 0});
  }
  void pass(uint64_t ns) {
    fake_now_ns += ns;
    correlator.end_iteration();
    correlator.end_iteration();
  }
  [[nodiscard]] uint64_t dropped() const {
    const auto& lost = correlator.totals().lost;
    const auto found = lost.find("samples_dropped");
    return found == lost.end() ? 0 : found->second;
  }
};

// Sums samples by the stack of the work that got them.
std::map<uint64_t, uint64_t> by_stack(const SharingRig& rig, const Batch& batch) {
  std::map<uint64_t, uint64_t> counts;
  for (const auto& [key, count] : batch.samples) {
    counts[rig.works.at(key.work).stack] += count;
  }
  return counts;
}

bool all_estimated(const Batch& batch, bool estimated) {
  return std::all_of(batch.samples.begin(), batch.samples.end(), [&](const auto& row) {
    return ((row.first.flags & profile::kSampleEstimated) != 0) == estimated;
  });
}

}  // namespace

TEST_CASE("samples of a kernel launched by one path belong to that path's GPU work") {
  SharingRig rig;
  rig.run(1, 77, 10 * kSharingMs, 100 * kSharingMs);
  rig.samples(5, 0x40, 7, 3);
  rig.samples(5, 0x50, 2);
  rig.window(5, 12);
  rig.pass(WindowSampleJoin::kTimesNs);
  const Batch batch = rig.take();
  CHECK(by_stack(rig, batch) == std::map<uint64_t, uint64_t>{{77, 12}});
  CHECK(all_estimated(batch, false));
  REQUIRE(batch.samples.size() == 3);
  REQUIRE(batch.rows.size() == 1);
  CHECK(batch.samples[0].first.work == batch.rows[0].first.work);
  CHECK(rig.correlator.totals().samples == 12);
  CHECK(rig.correlator.totals().samples_with_stack == 12);
  CHECK(rig.dropped() == 0);
}

TEST_CASE("code locations that a source numbers are distinct from those of window samples") {
  SharingRig rig;
  rig.correlator.on_gpu_place(1, {.id = 1, .function = "its own", .offset = 0x99});
  rig.run(1, 77, 10 * kSharingMs, 100 * kSharingMs);
  rig.samples(5, 0x40, 7);
  rig.window(5, 7);
  rig.pass(WindowSampleJoin::kTimesNs);
  const Batch batch = rig.take();
  REQUIRE(batch.gpu_places.size() == 2);
  REQUIRE(batch.samples.size() == 1);
  CHECK(batch.gpu_places[1].offset == 0x40);
  CHECK(batch.samples[0].first.place == batch.gpu_places[1].id);
}

TEST_CASE("two paths share the samples of their kernel by time, in integer counts") {
  SharingRig rig;
  rig.run(1, 77, 80 * kSharingMs, 100 * kSharingMs);
  rig.run(2, 88, 20 * kSharingMs, 200 * kSharingMs);
  uint64_t all = 0;
  for (uint32_t place = 0; place < 500; ++place) {
    rig.samples(5, place * 16, 1 + place % 7);
    all += 1 + place % 7;
  }
  rig.window(5, all);
  rig.pass(WindowSampleJoin::kTimesNs);
  const Batch batch = rig.take();
  const auto counts = by_stack(rig, batch);
  CHECK(counts.at(77) + counts.at(88) == all);
  CHECK(std::abs(static_cast<double>(counts.at(77)) - 0.8 * static_cast<double>(all)) < 5);
  CHECK(all_estimated(batch, true));
}

TEST_CASE("samples wait for the times of a running kernel, but not forever") {
  SharingRig rig;
  rig.samples(5, 0x40, 4);
  rig.window(5, 4);
  rig.pass(WindowSampleJoin::kTimesNs / 2);
  CHECK(rig.take().samples.empty());
  rig.pass(20'000'000'000);
  CHECK(rig.take().samples.empty());
  // The kernel began in the window, and its work arrives only now.
  rig.run(1, 77, 22'000 * kSharingMs, 22'100 * kSharingMs);
  rig.pass(kSharingMs * 500);
  CHECK(by_stack(rig, rig.take()) == std::map<uint64_t, uint64_t>{{77, 4}});

  rig.samples(6, 0x40, 3, 0, kHelper);
  rig.window(6, 3);
  rig.pass(700'000'000'000);
  const Batch batch = rig.take();
  CHECK(by_stack(rig, batch) == std::map<uint64_t, uint64_t>{{0, 3}});
  rig.correlator.finish();
  CHECK(coverage(rig.take())["samples_without_launch"] == 3);
}

TEST_CASE("at the end no samples wait, and none are lost") {
  SharingRig rig;
  rig.run(1, 77, 10 * kSharingMs, 100 * kSharingMs);
  rig.samples(5, 0x40, 7);
  rig.window(5, 7);
  rig.samples(6, 0x40, 2);
  rig.window(6, 2, 0, 0, 5000 * kSharingMs, 6000 * kSharingMs);  // the kernel's last run, before the window, is used
  rig.samples(7, 0x40, 9);                                       // a window that is never closed
  rig.correlator.on_source_end(1);
  const Batch batch = rig.take();
  CHECK(by_stack(rig, batch) == std::map<uint64_t, uint64_t>{{77, 9}});
  CHECK(rig.dropped() == 9);
}

TEST_CASE("samples missing from a window count as dropped, those of foreign code separately") {
  SharingRig rig;
  rig.run(1, 77, 10 * kSharingMs, 100 * kSharingMs);
  rig.samples(5, 0x40, 7);
  rig.window(5, 10, 4, 100);
  rig.correlator.finish();
  const Batch batch = rig.take();
  CHECK(by_stack(rig, batch) == std::map<uint64_t, uint64_t>{{77, 7}});
  CHECK(rig.dropped() == 7);
  CHECK(coverage(batch)["samples_foreign"] == 100);
}

TEST_CASE("samples in a called function belong to the kernel that calls it") {
  FakeModules code;
  SharingRig rig(&code);
  rig.run(1, 77, 10 * kSharingMs, 100 * kSharingMs);
  rig.samples(5, 0x40, 7, 0, kHelper);
  rig.window(5, 7);
  rig.pass(WindowSampleJoin::kTimesNs);
  CHECK(by_stack(rig, rig.take()) == std::map<uint64_t, uint64_t>{{77, 7}});
}

TEST_CASE("samples wait for their code for some time, and lines are read once per location") {
  FakeModules code;
  code.there = false;
  SharingRig rig(&code);
  rig.run(1, 77, 10 * kSharingMs, 100 * kSharingMs);
  rig.samples(5, 0x40, 7, 1);
  rig.samples(5, 0x50, 7, 1);
  rig.window(5, 16);
  rig.pass(WindowSampleJoin::kTimesNs);
  CHECK(rig.take().samples.empty());
  code.there = true;
  rig.pass(500 * kSharingMs);
  const Batch batch = rig.take();
  CHECK(batch.samples.size() == 4);
  CHECK(code.asked == 2);
  REQUIRE(batch.gpu_modules.size() == 1);
  REQUIRE(batch.gpu_places.size() == 2);
  CHECK(rig.names[index(batch.gpu_modules[0].name)] == "sm_90.cubin");
  REQUIRE(batch.gpu_places[1].lines.size() == 1);
  CHECK(batch.gpu_places[1].lines[0].line == 0x50);
  CHECK(profile::index(batch.gpu_places[1].module) != 0);

  code.there = false;
  rig.samples(6, 0x60, 1);
  rig.window(6, 1);
  rig.pass(SampledCode::kCodeNs);
  const Batch without = rig.take();
  REQUIRE(without.samples.size() == 1);
  REQUIRE(without.gpu_places.size() == 1);
  CHECK(without.gpu_places[0].lines.empty());
}

TEST_CASE("samples beyond the pending limit are dropped and counted") {
  SharingRig rig;
  const std::vector<LocationSamples::Reason> reasons(250, {kSharingWait, 1});
  const uint64_t records = WindowSampleJoin::kMaxCounts / reasons.size() + 2;
  for (uint64_t i = 0; i < records; ++i) {
    rig.correlator.on_location_samples(
        1, {.module = 7, .offset = i * 16, .function_id = 1, .window = 5, .reasons = reasons});
  }
  CHECK(rig.dropped() == 2 * reasons.size());
  rig.correlator.on_location_samples(1, {.module = 7, .offset = 0, .function_id = 1, .window = 6, .reasons = reasons});
  rig.window(6, reasons.size());  // all samples of window 6 were dropped when they arrived; they must not count twice
  CHECK(rig.dropped() == 3 * reasons.size());
  rig.window(5, records * reasons.size());
  rig.correlator.finish();
  rig.take();
  // Samples that the join has rejected are not counted a second time as missing from their window.
  CHECK(rig.correlator.totals().samples + rig.dropped() == (records + 1) * reasons.size());
}

TEST_CASE("samples with a launch id belong to that launch, and those of other launches are ignored") {
  SharingRig rig;
  rig.correlator.on_sampled_launch(1, 1);
  rig.run(1, 77, 300 * kSharingMs, 400 * kSharingMs);
  rig.run(2, 88, 100 * kSharingMs, 500 * kSharingMs);
  rig.samples(1, 0x10, 60, 0, 1, 7, 1);
  rig.samples(1, 0x20, 40, 0, 1, 7, 2);  // launch 2 was not selected for sampling
  rig.window(1, 100);
  rig.pass(WindowSampleJoin::kTimesNs);
  const Batch batch = rig.take();
  CHECK(by_stack(rig, batch) == std::map<uint64_t, uint64_t>{{77, 60}});
  CHECK(all_estimated(batch, false));
  CHECK(rig.dropped() == 0);
}

TEST_CASE("samples of a kernel in a batch are apportioned among the batches' work, which counts once") {
  SharingRig rig;
  constexpr uint32_t kInner = 14;
  rig.correlator.on_name(1, kInner, "kernel at 0x8000");
  rig.correlator.on_traits(1, {.takes_samples = true});
  for (const uint64_t correlation : {1, 2}) {  // only the command batch of launch 1 contains the kernel
    rig.launch(correlation, correlation == 1 ? 77 : 88);
    const auto op = Rig::kernel(correlation, 300 * kSharingMs, 400 * kSharingMs * correlation);
    if (correlation == 1) {
      rig.correlator.on_kernel_of(op, kInner);
    }
    rig.correlator.on_gpu_op(op);
  }
  rig.samples(1, 0x40, 10, 0, kInner, 0);
  rig.window(1, 10);
  rig.pass(WindowSampleJoin::kTimesNs);
  const Batch batch = rig.take();
  CHECK(by_stack(rig, batch).size() == 1);
  CHECK(all_estimated(batch, false));
  CHECK(rig.correlator.totals().gpu_records == 2);
  CHECK(rig.correlator.totals().gpu_ns == 600 * kSharingMs);
  CHECK(rig.correlator.totals().samples_with_stack == 10);

  // The kernel of work item 2 is reported after its work.
  rig.correlator.on_kernel_of(Rig::kernel(2, 300 * kSharingMs, 800 * kSharingMs), kInner);
  rig.samples(2, 0x40, 10, 0, kInner, 0);
  rig.window(2, 10);
  rig.pass(WindowSampleJoin::kTimesNs);
  const Batch both = rig.take();
  CHECK(by_stack(rig, both).size() == 2);
  CHECK(all_estimated(both, true));
  CHECK(rig.correlator.totals().gpu_records == 2);
}

TEST_CASE("samples that the source has estimated stay estimated if one path has them all") {
  SharingRig rig;
  rig.run(1, 77, 300 * kSharingMs, 400 * kSharingMs);
  const std::vector<LocationSamples::Reason> reasons = {{kSharingWait, 5}};
  rig.correlator.on_location_samples(
      1, {.module = 0, .offset = 8, .function_id = 1, .window = 1, .reasons = reasons, .estimated = true});
  rig.window(1, 5);
  rig.pass(WindowSampleJoin::kTimesNs);
  const Batch batch = rig.take();
  CHECK(by_stack(rig, batch).size() == 1);
  CHECK(all_estimated(batch, true));
}

// One long run makes each window look at all runs. The samples would take minutes if there were no limit.
TEST_CASE("the time for samples of a kernel is limited, and no sample is lost") {
  constexpr uint64_t kMany = 60'000;
  constexpr uint64_t kSeconds = 10;
  constexpr uint64_t kEndNs = (kMany + 1) * 10 * kSharingMs;
  SharingRig rig;
  for (uint64_t i = 1; i <= kMany; ++i) {
    rig.run(i, 77, 1000, i * 10 * kSharingMs);
  }
  rig.run(kMany + 1, 77, kEndNs - 1, kEndNs);
  for (uint32_t i = 1; i <= kMany; ++i) {
    rig.samples(i, 0x40, 1);
    rig.window(i, 1, 0, 0, kEndNs + 1, kEndNs + 2);
  }
  const uint64_t before = gpuprof::own_cpu_ns();
  rig.pass(WindowSampleJoin::kTimesNs);
  rig.correlator.on_source_end(1);
  CHECK(gpuprof::own_cpu_ns() - before < kSeconds * 1'000'000'000);
  uint64_t sum = 0;
  for (const auto& [key, count] : rig.take().samples) {
    sum += count;
  }
  CHECK(sum == kMany);
  CHECK(rig.dropped() == 0);
}
