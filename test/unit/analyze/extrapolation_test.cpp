#include "analyze/paths/extrapolation.h"

#include <random>
#include <string>

#include "catch.h"
#include "folding.h"

using namespace gpuprof;
using namespace gpuprof::analyze;
using test::lines_of;

namespace {

// Strings 2 to 5 are a to d, the functions of stacks 1 to 4. Strings 6 and 7 are the kernel names gemm and relu.
const std::string kSpreadBase =
    "GPUPROF;3.0\nSTRING;1;app\nSTRING;2;a\nSTRING;3;b\nSTRING;4;c\nSTRING;5;d\nSTRING;6;gemm\nSTRING;7;relu\n"
    "FRAME;1;native;2;0;0;0;0;0\nFRAME;2;native;3;0;0;0;0;0\nFRAME;3;native;4;0;0;0;0;0\nFRAME;4;native;5;0;0;0;0;0\n"
    "USTACK;1;1\nUSTACK;2;2\nUSTACK;3;3\nUSTACK;4;4\nPROCESS;1;100;1;5;1;0;0;0\nPROCESS;2;200;1;5;1;0;0;0\n"
    "DEVICE;1;0;0;0;0\nRANGE;1;0;0;6\n";

struct WorkFields {
  int id = 0;
  int process = 1;
  int tid = 7;
  int stack = 0;
  int capture = 0;
  int range = 0;
  int stream = 4;
  int name = 6;
  int flags = 0;
};

std::string work_line(const WorkFields& f, int ns) {
  const std::string id = std::to_string(f.id);
  const std::string time = std::to_string(ns);
  return "WORK;" + id + ";" + std::to_string(f.process) + ";" + std::to_string(f.tid) + ";0;" +
         std::to_string(f.stack) + ";0;" + std::to_string(f.capture) + ";" + std::to_string(f.range) + ";1;" +
         std::to_string(f.stream) + ";kernel;" + std::to_string(f.name) + ";" + std::to_string(f.flags) + "\nGPU;0;" +
         id + ";1;" + time + ";" + time + ";" + time + ";0;0;0\n";
}

std::string folded_works(const std::string& works) {
  return lines_of(kSpreadBase + works, {.ranges = RangeFrames::off});
}

}  // namespace

TEST_CASE("unsampled work is extrapolated to the stacks of the same work, in proportion") {
  CHECK(folded_works(work_line({.id = 1, .stack = 1}, 100) + work_line({.id = 2, .stack = 2}, 300) +
                     work_line({.id = 3, .flags = 2}, 1001)) == "app;a;gemm_[G] 350\napp;b;gemm_[G] 1051\n");
  const auto result =
      fold(test::read_all(kSpreadBase + work_line({.id = 1, .stack = 1}, 100) + work_line({.id = 3, .flags = 2}, 7) +
                          work_line({.id = 4, .name = 7, .flags = 2}, 5)),
           {});
  CHECK(result.spread.ns == 7);
  CHECK(result.not_sampled.ns == 5);
  CHECK(lines_of(result) == "app;[stack not sampled];relu_[G] 5\napp;a;gemm_[G] 107\n");
}

TEST_CASE("unsampled work gets the stacks of the most similar sampled launches") {
  const std::string other_stream = work_line({.id = 1, .stack = 1, .stream = 9}, 100);
  const std::string other_range = work_line({.id = 2, .stack = 2, .range = 1}, 100);
  const std::string other_thread = work_line({.id = 3, .tid = 8, .stack = 3}, 100);
  const std::string same = work_line({.id = 4, .stack = 4}, 100);
  const std::string unsampled = work_line({.id = 5, .flags = 2}, 50);
  CHECK(folded_works(other_stream + other_range + other_thread + same + unsampled).find("app;d;gemm_[G] 150\n") !=
        std::string::npos);
  CHECK(folded_works(other_stream + other_range + other_thread + unsampled).find("app;a;gemm_[G] 150\n") !=
        std::string::npos);
  CHECK(folded_works(other_range + other_thread + unsampled).find("app;b;gemm_[G] 150\n") != std::string::npos);
  CHECK(folded_works(other_thread + unsampled).find("app;c;gemm_[G] 150\n") != std::string::npos);
  CHECK(folded_works(unsampled) == "app;[stack not sampled];gemm_[G] 50\n");
}

TEST_CASE("unsampled work gets no stack of a different process, kernel or graph") {
  const std::string unsampled = work_line({.id = 5, .flags = 2}, 50);
  for (const WorkFields& other :
       {WorkFields{.id = 1, .process = 2, .stack = 1}, WorkFields{.id = 1, .stack = 1, .name = 7},
        WorkFields{.id = 1, .stack = 1, .capture = 2, .flags = 1}, WorkFields{.id = 1}}) {
    CHECK(folded_works(work_line(other, 100) + unsampled).find("app;[stack not sampled];gemm_[G] 50\n") !=
          std::string::npos);
  }
}

TEST_CASE("a graph node keeps the stack of its own capture") {
  CHECK(folded_works(work_line({.id = 1, .stack = 1, .capture = 3, .flags = 1}, 100) +
                     work_line({.id = 2, .stack = 2, .capture = 4, .flags = 1}, 100) +
                     work_line({.id = 3, .capture = 3, .flags = 3}, 10)) ==
        "app;a;[captured at];c;gemm_[G] 110\napp;b;[captured at];d;gemm_[G] 100\n");
  // With --graph capture, a graph node is shown below its capture stack, without the launch of the graph.
  const auto rows = test::read_all(kSpreadBase + work_line({.id = 3, .capture = 3, .flags = 3}, 10));
  CHECK(lines_of(fold(rows, {.graph = GraphStacks::capture})) == "app;c;gemm_[G] 10\n");
}

TEST_CASE("work whose stack was lost is not extrapolated") {
  CHECK(folded_works(work_line({.id = 1, .stack = 1}, 100) + work_line({.id = 2}, 10)) ==
        "app;[no CPU stack];gemm_[G] 10\napp;a;gemm_[G] 100\n");
}

TEST_CASE("unsampled work is shown without a stack if extrapolation is off") {
  const auto rows =
      test::read_all(kSpreadBase + work_line({.id = 1, .stack = 1}, 100) + work_line({.id = 2, .flags = 2}, 10));
  CHECK(lines_of(fold(rows, {.spread = false})) == "app;[stack not sampled];gemm_[G] 10\napp;a;gemm_[G] 100\n");
}

TEST_CASE("a split adds up exactly, and each share is off by less than one") {
  std::mt19937_64 random(1);
  for (int round = 0; round < 2000; ++round) {
    std::vector<StackExtrapolation::SampledStack> donors(1 + random() % 9);
    profile::Uint128 whole = 0;
    for (auto& donor : donors) {
      donor.ns = random() % 4 == 0 ? 0 : random() >> (4 + random() % 60);  // the sum of all `ns` fits in 64 bits
      donor.count = random() % 100;
      whole += donor.ns;
    }
    const Weight weight{.ns = random() >> random() % 64, .count = random() % 1000, .bytes = random() >> random() % 64};
    const auto parts = split(weight, donors);
    REQUIRE(parts.size() == donors.size());
    Weight sum;
    for (size_t i = 0; i < parts.size(); ++i) {
      sum.ns += parts[i].ns;
      sum.count += parts[i].count;
      sum.bytes += parts[i].bytes;
      if (whole > 0) {
        const auto exact = static_cast<uint64_t>(profile::Uint128{weight.ns} * donors[i].ns / whole);
        CHECK(parts[i].ns >= exact);
        CHECK(parts[i].ns <= exact + 1);
      }
    }
    CHECK(sum.ns == weight.ns);
    CHECK(sum.count == weight.count);
    CHECK(sum.bytes == weight.bytes);
  }
}
