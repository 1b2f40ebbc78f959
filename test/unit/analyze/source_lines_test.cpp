// Tests the files and lines of `annotate --cpu`.
#include "analyze/paths/source_lines.h"

#include <string>
#include <string_view>
#include <vector>

#include "catch.h"
#include "folding.h"

using namespace gpuprof;
using namespace gpuprof::analyze;

namespace {

// One launch: libc's start-up code with a line, two user's files (one with a function that is called like start-up
// code), a generated file, two files of a library.
constexpr const char* kStack = R"(GPUPROF;3.0
STRING;1;__libc_start_call_main
STRING;2;../csu/libc-start.c
STRING;3;train
STRING;4;/home/me/train.py
STRING;5;forward
STRING;6;<eval_with_key>.0
STRING;7;linear
STRING;8;/usr/lib/python3/dist-packages/torch/nn/functional.py
STRING;9;/usr/lib/python3/dist-packages/torch/nn/modules.py
STRING;10;k
STRING;11;/usr/lib/libc.so.6
STRING;12;thread_start
STRING;13;/home/me/pool.c
FRAME;1;native;1;2;58;11;0;0x1
FRAME;2;python;3;4;12;0;0;0x0
FRAME;3;python;5;6;3;0;0;0x0
FRAME;4;python;7;9;40;0;0;0x0
FRAME;5;python;7;8;20;0;0;0x0
FRAME;6;native;12;13;9;0;0;0x2
USTACK;1;1;6;2;3;4;5
WORK;1;0;0;0;1;0;0;0;0;0;kernel;10;0
GPU;0;1;1;50;50;50;2500;0;0
)";

TEST_CASE("annotate --cpu lists the user's files first, generated files last, and no start-up code") {
  const Aggregate rows = test::read_all(kStack);
  std::vector<std::string> files;
  for (const LaunchingFile& file : launching_lines(rows, {}).files) {
    files.emplace_back(file.file);
  }
  CHECK(files == std::vector<std::string>{"/home/me/pool.c", "/home/me/train.py",
                                          "/usr/lib/python3/dist-packages/torch/nn/functional.py",
                                          "/usr/lib/python3/dist-packages/torch/nn/modules.py", "<eval_with_key>.0"});
}

// Two instances of a template share a line, and the first one in the profile launched less.
TEST_CASE("a line names all its functions, the one with most GPU time first") {
  const Aggregate rows = test::read_all(R"(GPUPROF;3.0
STRING;1;phase<1>
STRING;2;phase<2>
STRING;3;/home/me/tmpl.cpp
STRING;4;k
FRAME;1;native;1;3;8;0;0;0x1
FRAME;2;native;2;3;8;0;0;0x2
USTACK;1;1
USTACK;2;2;2
WORK;1;0;0;0;1;0;0;0;0;0;kernel;4;0
WORK;2;0;0;0;2;0;0;0;0;0;kernel;4;0
GPU;0;1;9;9;1;1;9;0;0
GPU;0;2;1;50;50;50;2500;0;0
)");
  const auto files = launching_lines(rows, {}).files;
  REQUIRE(files.size() == 1);
  REQUIRE(files[0].lines.size() == 1);
  CHECK(files[0].lines[0].functions == std::vector<std::string_view>{"phase<2>", "phase<1>"});
  CHECK(files[0].lines[0].total.ns == 59);
}

}  // namespace
