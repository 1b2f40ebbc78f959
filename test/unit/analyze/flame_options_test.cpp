#include <string>
#include <vector>

#include "analyze/paths/fold.h"
#include "catch.h"
#include "folding.h"
#include "profile/random_profile.h"

using namespace gpuprof;
using namespace gpuprof::analyze;
using output::WeightKind;
using test::lines_of;

namespace {

// Strings 1 app, 2 main, 3 replay, 4 capture, 5 gemm, 6 step, 7 torch, 8 cudaDeviceSynchronize; stacks 1 main;replay,
// 2 main;capture, 3 main.
const std::string kOptionsBase =
    "GPUPROF;3.0\nMETA;host;node1\nSTRING;1;app\nSTRING;2;main\nSTRING;3;replay\nSTRING;4;capture\nSTRING;5;gemm\n"
    "STRING;6;step\nSTRING;7;torch\nSTRING;8;cudaDeviceSynchronize\nSTRING;9;3\nSTRING;10;H200\n"
    "STRING;11;app --fast\nSTRING;12;GPU-a\nSTRING;13;GPU-b\n"
    "FRAME;1;native;2;0;0;0;0;0\nFRAME;2;native;3;0;0;0;0;0\nFRAME;3;native;4;0;0;0;0;0\n"
    "USTACK;1;1;2\nUSTACK;2;1;3\nUSTACK;3;1\nPROCESS;1;100;1;5;1;11;9;0\n"
    "DEVICE;1;0;0;10;12\nDEVICE;2;0;1;10;13\nRANGE;1;0;0;6\nRANGE;2;1;7;3\n";

std::string gpu(int work, int ns) {
  const std::string text = std::to_string(ns);
  return "GPU;0;" + std::to_string(work) + ";1;" + text + ";" + text + ";" + text + ";0;0;0\n";
}

}  // namespace

TEST_CASE("a graph node is shown under its launch, its capture or both") {
  const std::string text = kOptionsBase + "WORK;1;1;7;0;1;0;2;0;1;4;kernel;5;1\n" +
                           "WORK;2;1;7;0;1;0;0;0;1;4;kernel;6;5\n" + "WORK;3;1;7;0;3;0;0;0;1;4;kernel;5;0\n" +
                           gpu(1, 10) + gpu(2, 20) + gpu(3, 40);
  CHECK(lines_of(text, {}) ==
        "app;main;gemm_[G] 40\n"
        "app;main;replay;[captured at];main;capture;gemm_[G] 10\n"
        "app;main;replay;[captured before recording];step_[G] 20\n");
  CHECK(lines_of(text, {.graph = GraphStacks::launch}) ==
        "app;main;gemm_[G] 40\napp;main;replay;gemm_[G] 10\napp;main;replay;step_[G] 20\n");
  CHECK(lines_of(text, {.graph = GraphStacks::capture}) ==
        "app;[captured before recording];step_[G] 20\napp;main;capture;gemm_[G] 10\napp;main;gemm_[G] 40\n");
}

TEST_CASE("dimensions are the outermost frames, in the requested order") {
  const std::string text = kOptionsBase + "WORK;1;1;7;6;3;0;0;0;2;4;kernel;5;0\nWORK;2;0;0;0;3;0;0;0;0;0;kernel;5;0\n" +
                           gpu(1, 10) + gpu(2, 5);
  using D = Dimension;
  CHECK(lines_of(text, {.by = {D::rank, D::device, D::stream, D::pid}}) ==
        "[no rank];[no device];[no stream];[no pid];[unknown];main;gemm_[G] 5\n"
        "rank 3;device 1 H200;stream 4;pid 100;app;main;gemm_[G] 10\n");
  CHECK(lines_of(text, {.by = {D::host, D::command, D::thread, D::tid}}) ==
        "host node1;[no command];[no thread];[no tid];[unknown];main;gemm_[G] 5\n"
        "host node1;command app --fast;thread step;tid 7;app;main;gemm_[G] 10\n");
}

TEST_CASE("devices with the same name get their UUID in the label") {
  const std::string two = "GPUPROF;3.0\nSTRING;1;H200\nSTRING;2;GPU-a\nSTRING;3;GPU-b\nDEVICE;1;0;0;1;2\n";
  CHECK(device_label(test::read_all(two).tables, profile::DeviceId{1}) == "device 0 H200");
  CHECK(device_label(test::read_all(two + "DEVICE;2;0;0;1;3\n").tables, profile::DeviceId{1}) == "device 0 H200 GPU-a");
  CHECK(device_label(test::read_all(two + "DEVICE;2;0;1;1;3\n").tables, profile::DeviceId{1}) == "device 0 H200");
}

TEST_CASE("NVTX ranges are frames, a filter or ignored") {
  const std::string text = kOptionsBase + "WORK;1;1;7;0;3;0;0;2;1;4;kernel;5;0\nWORK;2;1;7;0;3;0;0;1;1;4;kernel;5;0\n" +
                           "WORK;3;1;7;0;3;0;0;0;1;4;kernel;5;0\n" + gpu(1, 1) + gpu(2, 2) + gpu(3, 4);
  CHECK(lines_of(text, {}) == "app;main;gemm_[G] 4\napp;step;main;gemm_[G] 2\napp;step;torch:replay;main;gemm_[G] 1\n");
  CHECK(lines_of(text, {.ranges = RangeFrames::off}) == "app;main;gemm_[G] 7\n");
  const auto filtered = [&](const char* range) {
    return lines_of(text, {.ranges = RangeFrames::filter, .range = range});
  };
  CHECK(filtered("") == "app;main;gemm_[G] 3\n");
  CHECK(filtered("step") == "app;main;gemm_[G] 3\n");
  CHECK(filtered("step@") == "app;main;gemm_[G] 3\n");
  CHECK(filtered("replay") == "app;main;gemm_[G] 1\n");
  CHECK(filtered("replay@torch") == "app;main;gemm_[G] 1\n");
  CHECK(filtered("replay@other").empty());
  CHECK(filtered("repla").empty());
}

TEST_CASE("idle time belongs to the work that ended it") {
  const std::string text = kOptionsBase +
                           "WORK;1;1;7;0;3;0;0;0;1;4;kernel;5;0\nWORK;2;1;7;0;1;0;0;0;1;0;sync;8;0\n"
                           "WORK;3;1;7;0;3;0;0;0;1;4;fill;0;0\nIDLE;0;1;1;10\nIDLE;0;2;2;20\nIDLE;1;2;2;1\n"
                           "IDLE;0;1;3;40\nIDLE;0;1;0;80\n";
  CHECK(lines_of(text, {.by = {Dimension::device}, .measure = Measure::idle}) ==
        "device 0 H200;[idle: nothing launched any more] 80\n"
        "device 0 H200;app;main;[idle before fill] 40\n"
        "device 0 H200;app;main;[idle before gemm] 10\n"
        "device 1 H200;app;main;replay;[idle in cudaDeviceSynchronize] 21\n");
}

TEST_CASE("waits and allocations are not GPU time") {
  const std::string text = kOptionsBase +
                           "WORK;1;1;7;0;3;0;0;0;0;0;sync;8;0\nWORK;2;1;7;0;1;0;0;0;0;0;alloc;5;0\n"
                           "HOST;0;1;2;30;10;20;0\nHOST;0;2;3;0;0;0;4096\n";
  CHECK(lines_of(text, {}).empty());
  CHECK(lines_of(text, {.measure = Measure::wait}) == "app;main;[sync cudaDeviceSynchronize] 30\n");
  CHECK(lines_of(text, {.measure = Measure::wait}, WeightKind::count) == "app;main;[sync cudaDeviceSynchronize] 2\n");
  const std::string allocated = lines_of(text, {.measure = Measure::alloc}, WeightKind::bytes);
  CHECK(allocated.starts_with("app;main;replay;["));
  CHECK(allocated.ends_with("] 4096\n"));
}

TEST_CASE("calls are a weight of their own, and the cause of idle time") {
  const std::string text = kOptionsBase +
                           "WORK;1;1;7;0;3;0;0;0;0;0;call;8;0\nWORK;2;1;7;0;3;0;0;0;0;0;sync;8;0\n"
                           "HOST;0;1;2;30;10;20;0\nHOST;0;2;1;7;7;7;0\nIDLE;0;1;1;21\n";
  CHECK(lines_of(text, {}).empty());
  CHECK(lines_of(text, {.measure = Measure::calls}) == "app;main;[call cudaDeviceSynchronize] 30\n");
  CHECK(lines_of(text, {.measure = Measure::wait}) == "app;main;[sync cudaDeviceSynchronize] 7\n");
  CHECK(lines_of(text, {.measure = Measure::idle}) == "app;main;[idle in cudaDeviceSynchronize] 21\n");
}

TEST_CASE("with --max-overhead, waits are scaled as launches are, allocations and calls are not") {
  const std::string text = kOptionsBase +
                           "META;budget.max_overhead_percent;1\nWORK;1;1;7;0;3;0;0;0;0;0;call;8;0\n"
                           "WORK;2;1;7;0;3;0;0;0;0;0;sync;8;0\nWORK;3;1;7;0;3;0;0;0;1;4;kernel;5;0\n" +
                           gpu(3, 100) +
                           "HOST;0;1;2;30;10;20;0\nHOST;0;2;1;7;7;7;0\nWINDOW;1;2;3\n"
                           "COVERAGE;1;represented;20\nCOVERAGE;1;weighted;10\n";
  CHECK(lines_of(text, {.measure = Measure::calls}) == "app;main;[call cudaDeviceSynchronize] 30\n");
  CHECK(lines_of(text, {.measure = Measure::wait}) == "app;main;[sync cudaDeviceSynchronize] 14\n");
}

TEST_CASE("busy and exclusive shares replace the measured time of the work") {
  const std::string text = kOptionsBase + "WORK;1;1;7;0;3;0;0;0;1;4;kernel;5;0\n" + gpu(1, 100) + "SHARE;0;1;60;40\n";
  CHECK(lines_of(text, {.measure = Measure::busy}) == "app;main;gemm_[G] 60\n");
  CHECK(lines_of(text, {.measure = Measure::exclusive}) == "app;main;gemm_[G] 40\n");
  CHECK(lines_of(text, {}) == "app;main;gemm_[G] 100\n");
}

TEST_CASE("every measure adds up to its total with any dimensions") {
  const std::vector<std::vector<Dimension>> dimensions = {
      {}, {Dimension::stream, Dimension::rank}, {Dimension::host, Dimension::device, Dimension::tid}};
  for (unsigned seed = 0; seed < 150; ++seed) {
    INFO("seed " << seed);
    const test::RandomProfile random(seed);
    const Aggregate rows = test::read_all(random.text);
    Weight waits;
    Weight allocations;
    for (const Row& row : rows.host) {
      const profile::Op op = rows.work(row).op;
      Weight& sum = op == profile::Op::sync ? waits : allocations;
      if (op == profile::Op::sync || op == profile::Op::alloc) {
        sum.ns += row.weight.ns;
        sum.bytes += row.weight.bytes;
      }
    }
    FoldOptions options;
    options.graph = static_cast<GraphStacks>(seed % 3);
    options.ranges = seed % 2 == 0 ? RangeFrames::frames : RangeFrames::off;
    options.by = dimensions[seed % dimensions.size()];
    options.spread = seed % 5 != 0;
    const auto total = [&](Measure measure) {
      options.measure = measure;
      return fold(rows, options).tree.total();
    };
    CHECK(total(Measure::gpu).ns == random.gpu_ns);
    CHECK(total(Measure::gpu).ns == rows.total.ns);
    CHECK(total(Measure::gpu).count == rows.total.count);
    CHECK(total(Measure::gpu).bytes == rows.total.bytes);
    CHECK(total(Measure::busy).ns == random.busy_ns);
    CHECK(total(Measure::exclusive).ns == rows.exclusive_ns);
    CHECK(total(Measure::idle).ns == random.idle_ns);
    CHECK(total(Measure::wait).ns == waits.ns);
    CHECK(total(Measure::alloc).bytes == allocations.bytes);
    const FoldResult result = fold(rows, options);
    CHECK((options.spread || result.spread.bytes == 0));
  }
}

TEST_CASE("the paths inside and outside of a range filter add up to the complete profile") {
  for (unsigned seed = 0; seed < 60; ++seed) {
    INFO("seed " << seed);
    const Aggregate rows = test::read_all(test::RandomProfile(seed).text);
    uint64_t inside = 0;
    for (const Row& row : rows.rows) {
      inside += row.kind == RowKind::gpu && index(rows.work(row).range) != 0 ? row.weight.ns : 0;
    }
    CHECK(fold(rows, {.ranges = RangeFrames::filter}).tree.total().ns == inside);
  }
}
