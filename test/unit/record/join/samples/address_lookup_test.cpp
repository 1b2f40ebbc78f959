// Tests samples that have only the lower half of an address on a device. Their kernel is exact, apportioned or unknown.
#include "record/join/samples/address_lookup.h"

#include "catch.h"
#include "join_rig.h"
#include "record/join/samples/window_sample_join.h"

using gpuprof::backend::LocationSamples;
using gpuprof::record::Batch;
using gpuprof::record::JoinOptions;
using gpuprof::record::WindowSampleJoin;
using gpuprof::test::fake_now_ns;
using gpuprof::test::Rig;
namespace profile = gpuprof::profile;

namespace {

constexpr uint64_t kLookupMs = 1'000'000;
constexpr uint64_t kRegion = 0x800000000000;  // upper half of the addresses
constexpr uint64_t kLookupCode = kRegion + 0x10000;
constexpr uint32_t kOtherKernel = 21;  // this and the next constant are name ids
constexpr uint32_t kSbid = 22;

struct AddressRig : Rig {
  AddressRig() : Rig(sampling()) {
    correlator.on_name(1, kOtherKernel, "other");
    correlator.on_name(1, kSbid, "sbid");
    for (const uint32_t device : {1U, 2U, 3U}) {
      correlator.on_device(1, device, 0, 0);
    }
    stack(77);
    stack(88);
  }
  static JoinOptions sampling() {
    JoinOptions options;
    options.sampling.samples = true;
    return options;
  }

  void load(uint32_t name, uint64_t address, uint32_t device = 0, uint64_t load = 1, uint64_t time_ns = 100) {
    correlator.on_loaded_kernel(
        1, {.address = address, .time_ns = time_ns, .load = load, .name_id = name, .device = device});
  }
  void run(uint64_t correlation, uint64_t stack_id, uint64_t ns, uint64_t end_ns, uint32_t name = 1,
           uint32_t device = 0) {
    launch(correlation, stack_id);
    auto op = kernel(correlation, ns, end_ns);
    op.name_id = name;
    op.device = device;
    correlator.on_gpu_op(op);
  }
  // Adds a sample in the window from 100 to 200 ms. `device` is a sub-device of device `whole`.
  void sample(uint64_t address, uint32_t count, uint32_t device = 0, uint32_t whole = 0, bool low = true) {
    const std::vector<LocationSamples::Reason> reasons = {{kSbid, count}};
    correlator.on_location_samples(
        1, {.address = address, .window = ++last_window, .reasons = reasons, .low_address = low});
    correlator.on_sample_window(1, {.start_ns = 100 * kLookupMs,
                                    .end_ns = 200 * kLookupMs,
                                    .handed = count,
                                    .period = 91364,
                                    .window = last_window,
                                    .device = device,
                                    .whole = whole,
                                    .unit = gpuprof::backend::SamplingUnit::ns});
  }
  // Formats "KERNEL+OFFSET by STACK: COUNT", with "~" for estimated counts, sorted.
  std::string told(uint64_t after_ns = WindowSampleJoin::kTimesNs) {
    fake_now_ns += after_ns;
    correlator.end_iteration();
    const Batch batch = take();
    for (const auto& place : batch.gpu_places) {
      places[place.id] = "+" + std::to_string(place.offset);
    }
    std::vector<std::string> lines;
    for (const auto& [key, count] : batch.samples) {
      const auto& work = works.at(key.work);
      lines.push_back(names[work.name] + places[key.place] + " by " + std::to_string(work.stack) + ": " +
                      ((key.flags & profile::kSampleEstimated) != 0 ? "~" : "") + std::to_string(count));
    }
    std::sort(lines.begin(), lines.end());
    std::string text;
    for (const std::string& line : lines) {
      text += (text.empty() ? "" : "; ") + line;
    }
    return text;
  }

  uint32_t last_window = 0;
  std::map<profile::GpuPlaceId, std::string> places;
};

}  // namespace

TEST_CASE("samples of a kernel launched from one path are exact") {
  AddressRig rig;
  rig.load(1, kLookupCode);
  rig.run(1, 77, kLookupMs, 150 * kLookupMs);
  rig.sample(0x10018, 5);
  rig.sample(kLookupCode + 8, 2, 0, 0, false);
  CHECK(rig.told() == "k+24 by 77: 5; k+8 by 77: 2");
}

TEST_CASE("samples of a kernel launched from two paths are apportioned by time in the window") {
  AddressRig rig;
  rig.load(1, kLookupCode);
  rig.run(1, 77, kLookupMs, 150 * kLookupMs);
  rig.run(2, 88, 3 * kLookupMs, 170 * kLookupMs);
  rig.run(3, 77, 9 * kLookupMs, 50 * kLookupMs);  // ran before the window
  rig.sample(0x10000, 8);
  CHECK(rig.told() == "k+0 by 77: ~2; k+0 by 88: ~6");
}

TEST_CASE("a kernel that was not loaded, or did not run in the window, gets no samples") {
  AddressRig rig;
  rig.load(1, kLookupCode);
  rig.load(kOtherKernel, kLookupCode + 0x1000);
  rig.run(1, 77, kLookupMs, 150 * kLookupMs);
  rig.run(2, 77, kLookupMs, 50 * kLookupMs, kOtherKernel);
  rig.sample(0x8, 3);
  CHECK(rig.told() == "[unknown] by 0: 3");
  rig.sample(0x11008, 4);  // this kernel is loaded, and may still run
  CHECK(rig.told().empty());
  rig.correlator.end_iteration(true);
  CHECK(rig.told() == "[unknown] by 0: 4");
}

TEST_CASE("samples wait for a kernel that still runs") {
  AddressRig rig;
  rig.load(1, kLookupCode);
  rig.sample(0x10008, 4);
  CHECK(rig.told().empty());
  fake_now_ns += 60'000 * kLookupMs;
  rig.run(1, 77, 59'900 * kLookupMs, 60'000 * kLookupMs);
  CHECK(rig.told(20'000 * kLookupMs) == "k+8 by 77: 4");
}

TEST_CASE("equal low halves in two regions belong to the kernel that ran, or to both by time") {
  AddressRig rig;
  rig.load(1, kLookupCode, 0, 1);
  rig.load(kOtherKernel, kLookupCode + (uint64_t{1} << 32), 0, 2);
  rig.run(1, 77, kLookupMs, 150 * kLookupMs);
  rig.sample(0x10008, 4);
  CHECK(rig.told() == "k+8 by 77: 4");
  rig.run(2, 88, 3 * kLookupMs, 160 * kLookupMs, kOtherKernel);
  rig.sample(0x10008, 4);
  CHECK(rig.told() == "k+8 by 77: ~1; other+8 by 88: ~3");
}

TEST_CASE("each device has its own addresses, and a part has those of the complete device") {
  AddressRig rig;
  rig.load(1, kLookupCode, 0, 1);
  rig.load(kOtherKernel, kLookupCode, 1, 2);
  rig.run(1, 77, kLookupMs, 150 * kLookupMs, 1, 0);
  rig.run(2, 88, kLookupMs, 150 * kLookupMs, kOtherKernel, 1);
  rig.sample(0x10008, 4, 0, 0);
  rig.sample(0x10008, 5, 1, 1);
  rig.sample(0x10008, 6, 3, 1);
  rig.sample(0x10008, 7, 2, 2);
  CHECK(rig.told() == "[unknown] by 0: 7; k+8 by 77: 4; other+8 by 88: 11");
}

TEST_CASE("all samples are counted, including those of a source that ends") {
  AddressRig rig;
  rig.load(1, kLookupCode);
  rig.run(1, 77, kLookupMs, 150 * kLookupMs);
  for (uint64_t i = 0; i < 100; ++i) {
    rig.sample(i % 2 == 0 ? 0x10000 + i * 8 : i, 1);
  }
  fake_now_ns += WindowSampleJoin::kTimesNs;
  rig.correlator.end_iteration(true);
  CHECK(rig.correlator.totals().samples == 100);
  CHECK(rig.correlator.totals().samples_with_stack == 50);
}
