#include "record/join/samples/loaded_kernels.h"

#include "catch.h"
#include "join_rig.h"
#include "record/join/samples/window_sample_join.h"

using gpuprof::backend::LoadedKernel;
using gpuprof::backend::LocationSamples;
using gpuprof::record::Batch;
using gpuprof::record::CodeFacts;
using gpuprof::record::CodeReader;
using gpuprof::record::JoinOptions;
using gpuprof::record::SampledCode;
using gpuprof::record::WindowSampleJoin;
using gpuprof::test::fake_now_ns;
using gpuprof::test::kPid;
using gpuprof::test::Rig;

namespace {

constexpr uint64_t kLoadedMs = 1'000'000;
constexpr uint32_t kJobs = 1;  // the source that samples
constexpr uint32_t kCode = 2;  // the source that loads code
constexpr uint64_t kKernelBytes = 0x240;
constexpr uint64_t kBase = 0x800000010000;
constexpr uint64_t kCanonical = 0xffff000000000000;
constexpr uint32_t kScale = 21;  // this and the next three constants are name ids
constexpr uint32_t kAdd = 22;
constexpr uint32_t kWait = 23;
constexpr uint32_t kByAddress = 24;

struct FakeCode final : CodeReader {
  [[nodiscard]] bool may_come(uint32_t source, uint64_t) const override { return source == kCode && !there; }
  const CodeFacts* facts(uint32_t source, uint64_t) override { return source == kCode && there ? &known : nullptr; }
  uint64_t code_bytes(uint32_t, uint64_t, std::string_view) override { return there ? kKernelBytes : 0; }
  std::vector<gpuprof::symbolize::SourceFrame> frames(uint32_t source, uint64_t module, std::string_view function,
                                                      uint64_t offset) override {
    return source == kCode && there && module == 7
               ? std::vector<gpuprof::symbolize::SourceFrame>{{std::string(function), "k.cl",
                                                               static_cast<uint32_t>(offset)}}
               : std::vector<gpuprof::symbolize::SourceFrame>{};
  }
  std::string kernel_of(uint32_t, uint64_t, std::string_view) override { return ""; }
  bool there = true;
  CodeFacts known{"xe_hpc.zebin", "c0ffee"};
};

struct LoadingRig : Rig {
  explicit LoadingRig(FakeCode& code, uint32_t pid = kPid) : Rig(options_of(code)) {
    correlator.on_name(kJobs, kWait, "sbid");
    correlator.on_name(kJobs, kByAddress, "kernel at 0x10000");
    open(kCode, pid);
    correlator.on_name(kCode, kScale, "scale");
    correlator.on_name(kCode, kAdd, "add");
    stack(77);
    launch(1, 77);
    backend_op();
  }

  static JoinOptions options_of(FakeCode& code) {
    JoinOptions options;
    options.sampling.samples = true;
    options.code_reader = &code;
    return options;
  }

  void backend_op() {
    const auto op = kernel(1, 499 * kLoadedMs, 500 * kLoadedMs);
    correlator.on_kernel_of(op, kByAddress);
    correlator.on_gpu_op(op);
  }

  void load(uint32_t name, uint64_t address, uint64_t load = 1, uint64_t time_ns = 100, uint64_t module = 7) {
    correlator.on_loaded_kernel(
        kCode, {.module = module, .address = address, .time_ns = time_ns, .load = load, .name_id = name});
  }
  void unload(uint64_t load, uint64_t time_ns) {
    correlator.on_loaded_kernel(kCode, {.time_ns = time_ns, .load = load, .gone = true});
  }

  // Formats the code location of one sample at `address` as "FUNCTION+OFFSET FILE:LINE [MODULE]".
  std::string place_of(uint64_t address, uint64_t start_ns = 100 * kLoadedMs, uint64_t end_ns = 500 * kLoadedMs) {
    const std::vector<LocationSamples::Reason> reasons = {{kWait, 1}};
    correlator.on_location_samples(
        kJobs,
        {.offset = 0x30, .address = address, .function_id = kByAddress, .window = ++last_window, .reasons = reasons});
    correlator.on_sample_window(
        kJobs,
        {.start_ns = start_ns, .end_ns = end_ns, .handed = 1, .period = 100, .window = last_window, .device = 0});
    fake_now_ns += WindowSampleJoin::kTimesNs;
    correlator.end_iteration();
    return told();
  }

  std::string told() {
    const Batch batch = take();
    for (const auto& module : batch.gpu_modules) {
      modules[module.id] = names[index(module.name)] + " " + names[index(module.hash)];
    }
    for (const auto& place : batch.gpu_places) {
      std::string text = names[place.function] + "+" + std::to_string(place.offset);
      for (const auto& line : place.lines) {
        text += " " + names[line.file] + ":" + std::to_string(line.line);
      }
      text += gpuprof::profile::index(place.module) == 0 ? "" : " [" + modules[place.module] + "]";
      places[place.id] = text;
    }
    return batch.samples.size() == 1 ? places[batch.samples[0].first.place] : "";
  }

  uint32_t last_window = 0;
  std::map<gpuprof::profile::GpuModuleId, std::string> modules;
  std::map<gpuprof::profile::GpuPlaceId, std::string> places;
};

const std::string kUnknown = "kernel at 0x10000+48";

}  // namespace

TEST_CASE("an address belongs to the kernel loaded there, with module, offset and line") {
  FakeCode code;
  LoadingRig rig(code);
  rig.load(kScale, kBase);
  rig.load(kAdd, kBase + 0x400);
  rig.load(kScale, kBase);  // a second object of the same kernel
  CHECK(rig.place_of(kBase) == "scale+0 k.cl:0 [xe_hpc.zebin c0ffee]");
  CHECK(rig.place_of(kBase + 0x10) == "scale+16 k.cl:16 [xe_hpc.zebin c0ffee]");
  CHECK(rig.place_of(kCanonical | (kBase + kKernelBytes - 1)) == "scale+575 k.cl:575 [xe_hpc.zebin c0ffee]");
  CHECK(rig.place_of(kBase + 0x408) == "add+8 k.cl:8 [xe_hpc.zebin c0ffee]");
  CHECK(rig.place_of(kBase + kKernelBytes) == kUnknown);  // this address is between the two kernels
  CHECK(rig.place_of(kBase - 1) == kUnknown);
  CHECK(rig.place_of(0) == kUnknown);
}

TEST_CASE("samples wait some time for the code of their kernel") {
  FakeCode code;
  code.there = false;
  LoadingRig rig(code);
  rig.load(kScale, kBase);
  CHECK(rig.place_of(kBase + 0x10).empty());
  code.there = true;
  fake_now_ns += kLoadedMs * 500;
  rig.correlator.end_iteration();
  CHECK(rig.told() == "scale+16 k.cl:16 [xe_hpc.zebin c0ffee]");
  code.there = false;
  CHECK(rig.place_of(kBase + 0x20).empty());
  fake_now_ns += SampledCode::kCodeNs;
  rig.correlator.end_iteration();
  CHECK(rig.told() == "scale+32 [xe_hpc.zebin c0ffee]");  // the code has not arrived, so the line is missing
}

TEST_CASE("a kernel gets samples only from its load to its unload") {
  FakeCode code;
  LoadingRig rig(code);
  rig.load(kScale, kBase, 1, 50 * kLoadedMs);
  rig.unload(1, 300 * kLoadedMs);
  rig.load(kAdd, kBase, 2, 310 * kLoadedMs);
  CHECK(rig.place_of(kBase + 1, 60 * kLoadedMs, 100 * kLoadedMs) == "scale+1 k.cl:1 [xe_hpc.zebin c0ffee]");
  CHECK(rig.place_of(kBase + 1, 301 * kLoadedMs, 309 * kLoadedMs) == kUnknown);
  CHECK(rig.place_of(kBase + 1, 320 * kLoadedMs, 400 * kLoadedMs) == "add+1 k.cl:1 [xe_hpc.zebin c0ffee]");
  // The window includes the change from one kernel to another, so the location is unknown.
  CHECK(rig.place_of(kBase + 1, 200 * kLoadedMs, 400 * kLoadedMs) == kUnknown);
  CHECK(rig.place_of(kBase + 1, 10 * kLoadedMs, 40 * kLoadedMs) == kUnknown);
}

TEST_CASE("many unloaded kernels do not hide a loaded one") {
  FakeCode code;
  LoadingRig rig(code);
  for (uint64_t i = 1; i <= 100; ++i) {
    rig.load(kScale, kBase + i * 4, i);
    rig.unload(i, 50 * kLoadedMs);
  }
  rig.load(kAdd, kBase, 200, 60 * kLoadedMs);
  CHECK(rig.place_of(kBase + 0x200) == "add+512 k.cl:512 [xe_hpc.zebin c0ffee]");
}

TEST_CASE("an address on two devices is known only if both have the same kernel there") {
  FakeCode code;
  LoadingRig rig(code);
  rig.load(kScale, kBase, 1);
  rig.load(kScale, kBase, 2);
  CHECK(rig.place_of(kBase + 1) == "scale+1 k.cl:1 [xe_hpc.zebin c0ffee]");
  rig.load(kAdd, kBase, 3);
  CHECK(rig.place_of(kBase + 2) == kUnknown);
}

TEST_CASE("equal addresses of another process do not match") {
  FakeCode code;
  LoadingRig rig(code, static_cast<uint32_t>(::getppid()));
  rig.load(kScale, kBase);
  CHECK(rig.place_of(kBase + 1) == kUnknown);
}

TEST_CASE("loaded kernels stay known after their source ends, and names may arrive late") {
  FakeCode code;
  LoadingRig rig(code);
  constexpr uint32_t kLate = 30;
  rig.load(kLate, kBase + 0x800);
  rig.load(kScale, kBase);  // loaded second, at a lower address
  rig.correlator.end_iteration();
  rig.correlator.on_name(kCode, kLate, "late");
  fake_now_ns += kLoadedMs * 500;
  rig.correlator.end_iteration();
  rig.correlator.on_source_end(kCode);
  CHECK(rig.place_of(kBase + 1) == "scale+1 k.cl:1 [xe_hpc.zebin c0ffee]");
  CHECK(rig.place_of(kBase + 0x801) == "late+1 k.cl:1 [xe_hpc.zebin c0ffee]");
}

TEST_CASE("samples of running work do not belong to an earlier run of the kernel") {
  FakeCode code;
  LoadingRig rig(code);  // launch 1 of the rig ended at 500 ms
  rig.correlator.on_traits(kJobs, {.takes_samples = true});
  rig.load(kScale, kBase);
  CHECK(rig.place_of(kBase + 0x10, 700 * kLoadedMs, 750 * kLoadedMs).empty());
  rig.launch(2, 77);
  const auto op = Rig::kernel(2, 4000 * kLoadedMs, 4600 * kLoadedMs);
  rig.correlator.on_kernel_of(op, kByAddress);
  rig.correlator.on_gpu_op(op);
  fake_now_ns += WindowSampleJoin::kTimesNs;
  rig.correlator.end_iteration();
  CHECK(rig.told() == "scale+16 k.cl:16 [xe_hpc.zebin c0ffee]");
}
