#include "analyze/stalls/leaf.h"

#include <map>
#include <random>
#include <string>

#include "catch.h"
#include "folding.h"
#include "profile/random_profile.h"

using namespace gpuprof;
using namespace gpuprof::analyze;
using output::WeightKind;
using test::lines_of;

namespace {

// Defines two kernels below one stack. `saxpy` has samples on a line with inlined code, on a line without inlined code,
// in a function without lines, and without a code location. `copy` has no samples.
const std::string kLeafBase =
    "GPUPROF;3.0\nSTRING;1;app\nSTRING;2;main\nSTRING;3;saxpy\nSTRING;4;a.cu\nSTRING;5;clamp\nSTRING;6;a.cubin\n"
    "STRING;7;FADD\nSTRING;8;wait\nSTRING;9;barrier\nSTRING;10;helper\nSTRING;11;copy\nPROCESS;1;7;1;5;1;0;0;0\n"
    "FRAME;1;native;2;0;0;0;0;0x10\nFRAME;2;gpu;3;4;12;6;0;0\nFRAME;3;gpu;5;4;3;6;0;0\nFRAME;4;gpu;3;4;14;6;0;0\n"
    "USTACK;1;1\nGPU_MODULE;1;6;0\nGPU_PLACE;1;1;3;0x10;7;2;3\nGPU_PLACE;2;1;3;0x20;0;4\nGPU_PLACE;3;1;10;0x8;0\n"
    "WORK;1;1;0;0;1;0;0;0;0;0;kernel;3;0\nWORK;2;1;0;0;1;0;0;0;0;0;kernel;11;0\n"
    "GPU;0;1;4;1000;250;250;250000;0;64\nGPU;0;2;1;70;70;70;4900;0;0\n";
const std::string kSamples =
    "EUSTALL;0;1;1;8;0;4;0\nEUSTALL;1;1;1;8;0;1;1\nEUSTALL;0;1;1;9;0;1;0\nEUSTALL;0;1;2;8;0;2;0\n"
    "EUSTALL;0;1;3;8;0;1;0\nEUSTALL;0;1;0;9;0;1;0\n";

FoldOptions with(const char* leaves) {
  return {.leaves = parse_leaves(leaves).value()};
}

// Sums the weights by the path up to the first GPU frame, which is the kernel.
std::map<std::string, uint64_t> by_kernel(const std::string& folded) {
  std::map<std::string, uint64_t> sums;
  for (size_t at = 0; at < folded.size();) {
    const size_t end = folded.find('\n', at);
    const std::string line = folded.substr(at, end - at);
    const size_t space = line.rfind(' ');
    const size_t kernel = line.find("_[G]");
    sums[line.substr(0, std::min(kernel, space))] += std::stoull(line.substr(space + 1));
    at = end + 1;
  }
  return sums;
}

}  // namespace

TEST_CASE("a kernel's time is apportioned among its samples, by line and stall") {
  CHECK(lines_of(kLeafBase + kSamples, {}) ==
        "app;main;copy_[G] 70\n"
        "app;main;saxpy_[G];[unknown]_[G];barrier_[g] 100\n"
        "app;main;saxpy_[G];a.cubin_[G];helper_[G];wait_[g] 100\n"
        "app;main;saxpy_[G];saxpy (a.cu:12)_[G];clamp (a.cu:3)_[G];barrier_[g] 100\n"
        "app;main;saxpy_[G];saxpy (a.cu:12)_[G];clamp (a.cu:3)_[G];wait_[g] 500\n"
        "app;main;saxpy_[G];saxpy (a.cu:14)_[G];wait_[g] 200\n");
  // Launch counts and bytes stay with the kernel, as only time is apportioned.
  CHECK(lines_of(kLeafBase + kSamples, {}, WeightKind::count) == "app;main;copy_[G] 1\napp;main;saxpy_[G] 4\n");
  CHECK(lines_of(kLeafBase + kSamples, {}, WeightKind::bytes) == "app;main;saxpy_[G] 64\n");
}

TEST_CASE("a list chooses the frames below a kernel and their order") {
  const std::string text = kLeafBase + kSamples;
  CHECK(lines_of(text, with("kernel")) == "app;main;copy_[G] 70\napp;main;saxpy_[G] 1000\n");
  CHECK(lines_of(text, with("stall")) ==
        "app;main;copy_[G] 70\napp;main;saxpy_[G];barrier_[g] 200\napp;main;saxpy_[G];wait_[g] 800\n");
  CHECK(lines_of(text, with("function")) ==
        "app;main;copy_[G] 70\napp;main;saxpy_[G];[unknown]_[G] 100\n"
        "app;main;saxpy_[G];a.cubin_[G];helper_[G] 100\napp;main;saxpy_[G];saxpy_[G] 200\n"
        "app;main;saxpy_[G];saxpy_[G];clamp_[G] 600\n");
  CHECK(lines_of(text, with("function,line,stall")) ==
        "app;main;copy_[G] 70\napp;main;saxpy_[G];[unknown]_[G];barrier_[g] 100\n"
        "app;main;saxpy_[G];a.cubin_[G];helper_[G];wait_[g] 100\n"
        "app;main;saxpy_[G];saxpy_[G];a.cu:14_[G];wait_[g] 200\n"
        "app;main;saxpy_[G];saxpy_[G];clamp_[G];a.cu:3_[G];barrier_[g] 100\n"
        "app;main;saxpy_[G];saxpy_[G];clamp_[G];a.cu:3_[G];wait_[g] 500\n");
  CHECK(lines_of(text, with("stall,instruction")) ==
        "app;main;copy_[G] 70\napp;main;saxpy_[G];barrier_[g];0x0_[g] 100\n"
        "app;main;saxpy_[G];barrier_[g];FADD_[g] 100\napp;main;saxpy_[G];wait_[g];0x20_[g] 200\n"
        "app;main;saxpy_[G];wait_[g];0x8_[g] 100\napp;main;saxpy_[G];wait_[g];FADD_[g] 500\n");
  // The leaves `stall` also work if the weight is the number of samples instead of time.
  CHECK(lines_of(text, {.measure = Measure::samples, .leaves = parse_leaves("stall").value()}, WeightKind::count) ==
        "app;main;saxpy_[G];barrier_[g] 2\napp;main;saxpy_[G];wait_[g] 8\n");
  CHECK(lines_of(text, {.measure = Measure::samples, .leaves = Leaves()}, WeightKind::count) ==
        "app;main;saxpy_[G] 10\n");
}

TEST_CASE("an invalid list of leaves is rejected") {
  CHECK(leaf_words(parse_leaves("stall,line").value()) == "stall,line");
  CHECK(leaf_words(parse_leaves("kernel").value()) == "kernel");
  CHECK(parse_leaves("").error().message == "'' is not one of kernel, function, line, instruction, offset and stall");
  CHECK(parse_leaves("line,").error().message ==
        "'' is not one of kernel, function, line, instruction, offset and stall");
  CHECK(parse_leaves("line,kernel").error().message ==
        "'kernel' cannot be combined with other values: it hides all frames below GPU kernels");
  CHECK(parse_leaves("line,line").error().message == "'line' is listed twice");
}

TEST_CASE("too many dropped samples make the kernel the leaf, unless more is asked for") {
  const auto result = [](const char* losses, const FoldOptions& options = {}) {
    return analyze::fold(test::read_all(kLeafBase + "EUSTALL;0;1;1;8;0;99;0\n" + losses), options);
  };
  CHECK(result("LOSS;1;samples_dropped;1\n").leaves.size() == 2);
  CHECK(result("LOSS;1;ring_full;5\n").leaves.size() == 2);  // lost work is not a lost sample
  CHECK(result("LOSS;1;samples_dropped;1\nLOSS;0;samples_dropped;1\n").leaves.empty());
  CHECK(result("LOSS;1;samples_dropped;18446744073709551615\n").leaves.empty());
  CHECK(lines_of(result("LOSS;1;samples_dropped;2\n")) == "app;main;copy_[G] 70\napp;main;saxpy_[G] 1000\n");
  CHECK(lines_of(result("LOSS;1;samples_dropped;2\n", with("stall"))) ==
        "app;main;copy_[G] 70\napp;main;saxpy_[G];wait_[g] 1000\n");
}

TEST_CASE("samples of work without a time are counted but not drawn") {
  const std::string text = kLeafBase + "WORK;3;1;0;0;1;0;0;0;0;0;kernel;10;0\nEUSTALL;0;3;1;8;0;3;0\n" +
                           "EUSTALL;0;2;1;8;0;0;0\n" + kSamples;
  const FoldResult result = analyze::fold(test::read_all(text), {});
  CHECK(result.apportioned.samples == 10);
  CHECK(result.apportioned.without_lines == 1);
  CHECK(result.apportioned.untimed == 3);
  const std::string lines = lines_of(result);
  CHECK(lines.find("helper_[G] ") == std::string::npos);
  CHECK(lines.starts_with("app;main;copy_[G] 70\n"));  // the only line of `copy` has a sample count of 0
}

TEST_CASE("extrapolated time is apportioned among samples below each stack that receives it") {
  const std::string text =
      kLeafBase + "USTACK;2;1;1\nWORK;3;1;0;0;2;0;0;0;0;0;kernel;3;0\nGPU;0;3;1;3000;3000;3000;0;0;0\n" +
      "WORK;4;1;0;0;0;0;0;0;0;0;kernel;3;2\nGPU;0;4;1;7;7;7;0;0;0\nEUSTALL;0;4;0;8;0;2;0\n" + "EUSTALL;0;4;0;9;0;1;0\n";
  CHECK(lines_of(text, with("stall")) ==
        "app;main;copy_[G] 70\napp;main;main;saxpy_[G] 3000\napp;main;main;saxpy_[G];barrier_[g] 2\n"
        "app;main;main;saxpy_[G];wait_[g] 3\napp;main;saxpy_[G] 1000\napp;main;saxpy_[G];barrier_[g] 1\n"
        "app;main;saxpy_[G];wait_[g] 1\n");
}

TEST_CASE("the leaves of each kernel sum to its time exactly, whatever the samples") {
  const std::vector<std::string> lists = {"line,stall", "stall", "function,line", "line,instruction,stall,offset",
                                          "offset"};
  size_t shared = 0;
  for (unsigned seed = 0; seed < 200; ++seed) {
    INFO("seed " << seed);
    std::mt19937_64 random(seed);
    std::string text = kLeafBase;
    const size_t works = 3 + random() % 5;
    for (size_t i = 3; i < 3 + works; ++i) {
      const std::string id = std::to_string(i);
      const uint64_t ns = random() % 3 == 0 ? random() % 50 : random() >> (4 + random() % 40);
      text += "WORK;" + id + ";1;" + std::to_string(random() % 2) + ";0;" + std::to_string(random() % 2) + ";0;0;0;0;" +
              std::to_string(random() % 2) + ";kernel;" + (random() % 2 == 0 ? "3" : "11") + ";" +
              (random() % 3 == 0 ? "2" : "0") + "\nGPU;0;" + id + ";1;" + std::to_string(ns) + ";" +
              std::to_string(ns) + ";" + std::to_string(ns) + ";0;0;0\n";
      for (size_t samples = random() % 12; samples > 0; --samples) {
        text += "EUSTALL;0;" + id + ";" + std::to_string(random() % 4) + ";" + std::to_string(8 + random() % 2) +
                ";0;" + std::to_string(random() >> (20 + random() % 44)) + ";" + std::to_string(random() % 2) + "\n";
      }
    }
    const Aggregate rows = test::read_all(text);
    FoldOptions options{.spread = seed % 2 == 0, .measure = seed % 7 == 0 ? Measure::exclusive : Measure::gpu};
    options.leaves = Leaves();
    const FoldResult kernels = fold(rows, options);
    options.leaves = parse_leaves(lists[seed % lists.size()]).value();
    const FoldResult leaves = fold(rows, options);
    CHECK(by_kernel(lines_of(leaves)) == by_kernel(lines_of(kernels)));
    CHECK(by_kernel(lines_of(leaves, WeightKind::count)) == by_kernel(lines_of(kernels, WeightKind::count)));
    shared += leaves.apportioned.samples > 0 ? 1 : 0;
  }
  CHECK(shared > 100);
  for (unsigned seed = 0; seed < 200; ++seed) {
    const Aggregate rows = test::read_all(test::RandomProfile(seed).text);
    FoldOptions options{.leaves = parse_leaves(lists[seed % lists.size()]).value()};
    if (rows.info.kind != ProfileKind::stall_samples) {
      CHECK(fold(rows, options).tree.total().ns == rows.total.ns);
      CHECK(fold(rows, options).tree.total().count == rows.total.count);
    }
  }
}
