// Tests the function table: GPU time below each CPU function, and GPU time that the function launched itself.
#include "analyze/paths/functions.h"

#include <algorithm>
#include <map>
#include <string>

#include "analyze/names/frame_origin.h"
#include "catch.h"
#include "folding.h"
#include "profile/random_profile.h"

using namespace gpuprof;
using namespace gpuprof::analyze;

namespace {

FunctionTable functions_of(const Aggregate& rows, StackView& view) {
  LaunchSums launches;
  for (const Row& row : rows.rows) {
    launches.add(rows.work(row), row.weight);
  }
  return function_table(launches, view);
}

// Maps name and file of a function to "total direct" in ns.
std::map<std::string, std::string> shown(const FunctionTable& table) {
  std::map<std::string, std::string> lines;
  for (const FunctionLine& line : table.lines) {
    const std::string file = line.file.empty() ? "" : "@" + std::string(line.file);
    lines[std::string(line.name) + file] = std::to_string(line.total.ns) + " " + std::to_string(line.direct.ns);
  }
  return lines;
}

// Frames 1 to 9: main.py:main, step (line 10), step (line 20), lib.py:step, a library's native function,
// cudaLaunchKernel, kernel space, [truncated], an address.
const char* const kProfile = R"(GPUPROF;3.0
STRING;1;main
STRING;2;step
STRING;3;/src/main.py
STRING;4;/usr/lib/python3.11/site-packages/lib.py
STRING;5;at::add
STRING;6;libtorch.so
STRING;7;cudaLaunchKernel
STRING;8;do_syscall_64
STRING;9;k
STRING;10;[libcuda.so.1+0x12]
PROCESS;1;1;0;0;0;0;0;0
FRAME;1;python;1;3;1;0;0;0x0
FRAME;2;python;2;3;10;0;0;0x0
FRAME;3;python;2;3;20;0;0;0x0
FRAME;4;python;2;4;5;0;0;0x0
FRAME;5;native;5;0;0;6;0;0x5
FRAME;6;native;7;0;0;0;0;0x6
FRAME;7;kernel;8;0;0;0;0;0x7
FRAME;8;truncated;0;0;0;0;0;0x0
FRAME;9;unknown;10;0;0;0;0;0x12
USTACK;1;1;2;3;5;6
USTACK;2;1;4
USTACK;3;8;5;9
USTACK;4;8
USTACK;5;1;2
KSTACK;1;7
)";

std::string work(uint32_t id, uint32_t ustack, uint32_t kstack, uint32_t capture, uint64_t ns) {
  const std::string n = std::to_string(ns);
  return "WORK;" + std::to_string(id) + ";1;0;0;" + std::to_string(ustack) + ";" + std::to_string(kstack) + ";" +
         std::to_string(capture) + ";0;0;0;kernel;9;0\nGPU;0;" + std::to_string(id) + ";1;" + n + ";" + n + ";" + n +
         ";" + std::to_string(ns * ns) + ";0;0\n";
}

}  // namespace

TEST_CASE("a function counts once per stack, however often and on whatever lines it occurs") {
  const Aggregate rows = test::read_all(kProfile + work(1, 1, 0, 0, 100) + work(2, 1, 1, 0, 20) + work(3, 2, 0, 0, 3));
  StackView view(rows.tables, {});
  const FunctionTable table = functions_of(rows, view);
  CHECK(shown(table) == std::map<std::string, std::string>{{"main@/src/main.py", "123 0"},
                                                           {"step@/src/main.py", "120 0"},
                                                           {"step@lib.py", "3 3"},
                                                           {"at::add", "120 120"},
                                                           {"cudaLaunchKernel", "120 0"},
                                                           {"do_syscall_64", "20 0"}});
  CHECK(table.with_stack.ns == 123);
}

TEST_CASE("frames without a function launch nothing, and stacks of only such frames are not counted") {
  const Aggregate rows = test::read_all(kProfile + work(1, 3, 0, 0, 100) + work(2, 4, 0, 0, 20) + work(3, 0, 0, 0, 3));
  StackView view(rows.tables, {});
  const FunctionTable table = functions_of(rows, view);
  CHECK(shown(table) == std::map<std::string, std::string>{{"at::add", "100 100"}, {"[libcuda.so.1+0x12]", "100 0"}});
  CHECK(table.with_stack.ns == 100);
}

TEST_CASE("a graph node belongs to its capture and counts once for the launch and the capture stack") {
  const Aggregate rows = test::read_all(kProfile + work(1, 1, 0, 5, 100));
  StackView view(rows.tables, {});
  const FunctionTable table = functions_of(rows, view);
  CHECK(shown(table)["main@/src/main.py"] == "100 0");
  CHECK(shown(table)["step@/src/main.py"] == "100 100");
}

TEST_CASE("the launcher of a path is its innermost non-vendor function, or else its innermost one") {
  const auto launched = [](std::initializer_list<Origin> path) {
    Launcher launcher;
    uint32_t position = 0;
    for (const Origin origin : path) {
      launcher.add(position++, origin);
    }
    return launcher.function();
  };
  CHECK_FALSE(launched({}));
  CHECK(launched({Origin::own, Origin::library, Origin::vendor, Origin::none}) == 1);
  CHECK(launched({Origin::library, Origin::own, Origin::vendor}) == 1);
  CHECK(launched({Origin::none, Origin::vendor}) == 1);
  CHECK(launched({Origin::vendor, Origin::none}) == 1);
}

TEST_CASE("functions of exactly the same paths are one line, named after the program's innermost one") {
  // The function main is on two paths, of 120 ns and 3 ns. step of main.py and at::add are both on the first path, step
  // of lib.py is on the second.
  const Aggregate rows = test::read_all(kProfile + work(1, 1, 0, 0, 100) + work(2, 1, 0, 0, 20) + work(3, 2, 0, 0, 3));
  StackView view(rows.tables, {});
  FunctionTable table = functions_of(rows, view);
  std::erase_if(table.lines, [](const FunctionLine& line) { return line.origin > Origin::library; });
  join_chains(table.lines);
  CHECK(shown(table) == std::map<std::string, std::string>{
                            {"main@/src/main.py", "123 0"}, {"step@/src/main.py", "120 120"}, {"step@lib.py", "3 3"}});
  REQUIRE(table.lines.size() == 3);
  CHECK(table.lines[0].others == 0);
  CHECK(table.lines[1].others == 1);  // at::add has the same path
}

TEST_CASE("functions with equal times but different paths stay two lines") {
  const Aggregate rows = test::read_all(kProfile + work(1, 1, 0, 0, 50) + work(2, 2, 0, 0, 50));
  StackView view(rows.tables, {});
  FunctionTable table = functions_of(rows, view);
  join_chains(table.lines);
  CHECK(shown(table).at("step@/src/main.py") == "50 50");
  CHECK(shown(table).at("step@lib.py") == "50 50");
}

TEST_CASE("a chain of library functions is named after its outermost if it launches, or its innermost") {
  const std::string profile = R"(GPUPROF;3.0
STRING;1;engine
STRING;2;node
STRING;3;backward
STRING;4;gemm
STRING;5;relu
STRING;6;libtorch.so
STRING;7;impl
STRING;9;k
PROCESS;1;1;0;0;0;0;0;0
FRAME;1;native;1;0;0;6;0;0x1
FRAME;2;native;2;0;0;6;0;0x2
FRAME;3;native;3;0;0;6;0;0x3
FRAME;4;native;4;0;0;6;0;0x4
FRAME;5;native;5;0;0;6;0;0x5
FRAME;6;native;7;0;0;6;0;0x6
USTACK;1;1;2;3;4
USTACK;2;1;2;5;6
)";
  const Aggregate rows = test::read_all(profile + work(1, 1, 0, 0, 5) + work(2, 2, 0, 0, 7));
  StackView view(rows.tables, {});
  FunctionTable table = functions_of(rows, view);
  join_chains(table.lines);
  CHECK(shown(table) == std::map<std::string, std::string>{{"node", "12 0"}, {"backward", "5 5"}, {"relu", "7 7"}});
}

TEST_CASE("many captures below many launches cost one entry per function, not per frame") {
  constexpr uint32_t kStacks = 50;  // number of launch stacks, and of capture stacks
  constexpr uint32_t kFrames = 1000;
  std::string text = kProfile;
  for (uint32_t id = 11; id < 11 + 2 * kStacks; ++id) {
    text += "USTACK;" + std::to_string(id);
    for (uint32_t frame = 0; frame < kFrames; ++frame) {
      text += ((id >> frame % 8U) & 1U) != 0 ? ";1" : ";2";
    }
    text += "\n";
  }
  uint32_t number = 0;
  for (uint32_t launch = 11; launch < 11 + kStacks; ++launch) {
    for (uint32_t capture = 11 + kStacks; capture < 11 + 2 * kStacks; ++capture) {
      text += work(++number, launch, 0, capture, 1);
    }
  }
  const Aggregate rows = test::read_all(text);
  StackView view(rows.tables, {});
  const FunctionTable table = functions_of(rows, view);
  CHECK(table.with_stack.ns == kStacks * kStacks);
  CHECK(shown(table).at("step@/src/main.py") == "2500 " + std::to_string(table.lines[1].direct.ns));
  CHECK(table.steps <= uint64_t{2} * kStacks * kFrames + uint64_t{4} * kStacks * kStacks);
}

TEST_CASE("a frame's origin is the program, a library, the vendor or the kernel") {
  const Aggregate rows = test::read_all(kProfile + work(1, 1, 1, 0, 1) + work(2, 2, 0, 0, 1) + work(3, 3, 0, 0, 1));
  StackView view(rows.tables, {});
  std::map<std::string, Origin> origins;
  for (const FunctionLine& line : functions_of(rows, view).lines) {
    origins[std::string(line.name) + std::string(line.file)] = line.origin;
  }
  CHECK(origins["main/src/main.py"] == Origin::own);
  CHECK(origins["steplib.py"] == Origin::library);
  CHECK(origins["at::add"] == Origin::library);
  CHECK(origins["cudaLaunchKernel"] == Origin::vendor);
  CHECK(origins["do_syscall_64"] == Origin::vendor);
  CHECK(origins["[libcuda.so.1+0x12]"] == Origin::none);
}

TEST_CASE("a function's name decides its origin only if nothing else does") {
  const Aggregate rows = test::read_all(R"(GPUPROF;3.0
STRING;1;clRender
STRING;2;/home/me/app
STRING;3;/home/me/python3_train.py
STRING;4;train
STRING;5;clFlush
STRING;6;/usr/lib/libMesaOpenCL.so.1
STRING;7;cudaLaunchKernel
STRING;8;cudaCheck
STRING;9;/home/me/check.cu
STRING;10;k
PROCESS;1;1;0;0;0;0;0;0
FRAME;1;python;4;3;1;0;0;0x0
FRAME;2;native;1;0;0;2;0;0x5
FRAME;3;native;5;0;0;6;0;0x5
FRAME;4;native;7;0;0;2;0;0x5
FRAME;5;native;8;9;3;2;0;0x5
STRING;11;__device_stub__Z1kPf(float*)
FRAME;6;native;11;9;3;2;0;0x5
USTACK;1;1;5;2;3;4
USTACK;3;1;6
WORK;3;1;0;0;3;0;0;0;0;0;kernel;10;0
GPU;0;3;1;7;7;7;49;0;0
USTACK;2;clEnqueueNDRangeKernel;std::sort;render
WORK;1;1;0;0;1;0;0;0;0;0;kernel;10;0
WORK;2;1;0;0;2;0;0;0;0;0;kernel;10;0
GPU;0;1;1;100;100;100;10000;0;0
GPU;0;2;1;100;100;100;10000;0;0
)");
  StackView view(rows.tables, {});
  const FunctionTable table = functions_of(rows, view);
  std::map<std::string, Origin> origins;
  for (const FunctionLine& line : table.lines) {
    origins[std::string(line.name)] = line.origin;
  }
  CHECK(origins["train"] == Origin::own);
  CHECK(origins["clRender"] == Origin::own);
  CHECK(origins["cudaCheck"] == Origin::own);
  CHECK(origins["clFlush"] == Origin::vendor);
  CHECK(origins["cudaLaunchKernel"] == Origin::vendor);  // from the CUDA runtime, which is linked into the program
  CHECK(origins["__device_stub__Z1kPf(float*)"] == Origin::vendor);  // generated by nvcc
  CHECK(shown(table)["clRender"] == "100 100");
  const auto train = std::find_if(table.lines.begin(), table.lines.end(),
                                  [](const FunctionLine& line) { return line.name == "train"; });
  REQUIRE(train != table.lines.end());
  CHECK(train->direct.ns == 7);  // train itself called __device_stub__
}

TEST_CASE("direct times sum up to the work with a stack, and no total exceeds that sum") {
  for (uint32_t seed = 0; seed < 40; ++seed) {
    const Aggregate rows = test::read_all(test::RandomProfile(seed).text);
    StackView view(rows.tables, {});
    const FunctionTable table = functions_of(rows, view);
    Weight direct;
    for (const FunctionLine& line : table.lines) {
      CHECK(line.total.ns <= table.with_stack.ns);
      CHECK(line.direct.ns <= line.total.ns);
      CHECK(line.direct.count <= line.total.count);
      direct += line.direct;
    }
    CHECK(direct.ns == table.with_stack.ns);
    CHECK(direct.count == table.with_stack.count);
    CHECK(direct.bytes == table.with_stack.bytes);
    CHECK(table.with_stack.ns <= rows.total.ns);
  }
}
