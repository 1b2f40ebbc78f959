// Version 1 is read as if it were version 2.
#include "catch.h"
#include "text_input.h"

using namespace gpuprof;
using namespace gpuprof::profile;
using gpuprof::test::first_error;
using gpuprof::test::open_text;
using gpuprof::test::rewritten;

namespace {

const char* const kDefinitions =
    "GPUPROF;1.0\n"
    "STRING;1;main\n"
    "STRING;2;app\n"
    "USTACK;1;main\n"
    "KSTACK;1;0xffffffff81000000\n"
    "PROCESS;1;10;1;5;2;0\n"
    "DEVICE;1;2;0;2\n";

const char* const kDefinitionsNow =
    "GPUPROF;2.1\n"
    "STRING;1;main\n"
    "STRING;2;app\n"
    "USTACK;1;main\n"
    "KSTACK;1;0xffffffff81000000\n"
    "PROCESS;1;10;1;5;2;0;0;0\n"
    "DEVICE;1;2;0;2;0\n";

std::string error_of(const std::string& line) {
  return first_error("GPUPROF;1.0\n" + line + "\n");
}

}  // namespace

TEST_CASE("each key of version 1 becomes a work, in front of its first measurement") {
  CHECK(rewritten(std::string(kDefinitions) + "GPU;0;1;2;1;1;1;7;copy_htod;1;2;30;10;20;500;3;4\n"
                                              "LAUNCH;0;1;2;1;0;1;3\n"
                                              "GPU;1;1;2;1;1;1;7;copy_htod;1;1;9;9;9;81;0;0\n"
                                              "GPU;1;1;2;1;1;1;8;copy_htod;1;1;9;9;9;81;0;0\n"
                                              "LAUNCH;1;1;2;1;0;1;4\n"
                                              "END;9;5;4;48;2;0\n") == std::string(kDefinitionsNow) +
                                                                           "WORK;1;1;0;2;1;1;0;0;1;7;copy_htod;1;0\n"
                                                                           "GPU;0;1;2;30;10;20;500;3;4\n"
                                                                           "WORK;2;1;0;2;1;0;0;0;0;0;launch;1;0\n"
                                                                           "LAUNCH;0;2;3\n"
                                                                           "GPU;1;1;1;9;9;9;81;0;0\n"
                                                                           "WORK;3;1;0;2;1;1;0;0;1;8;copy_htod;1;0\n"
                                                                           "GPU;1;3;1;9;9;9;81;0;0\n"
                                                                           "LAUNCH;1;2;4\n"
                                                                           "END;9;5;4;48;2;0\n");
}

TEST_CASE("each part of a key tells works apart") {
  std::string text = kDefinitions;
  text += "STRING;3;x\nUSTACK;2;b\nKSTACK;2;c\nPROCESS;2;1;1;1;1;1\nDEVICE;2;0;0;0\n";
  for (const char* key : {"1;1;1;1;1;1;kernel;1", "2;1;1;1;1;1;kernel;1", "1;2;1;1;1;1;kernel;1",
                          "1;1;2;1;1;1;kernel;1", "1;1;1;2;1;1;kernel;1", "1;1;1;1;2;1;kernel;1",
                          "1;1;1;1;1;2;kernel;1", "1;1;1;1;1;1;fill;1", "1;1;1;1;1;1;kernel;2"}) {
    for (int i = 0; i < 2; ++i) {
      text += std::string("GPU;0;") + key + ";1;5;5;5;25;0;0\n";
    }
  }
  const std::string now = rewritten(text);
  CHECK(now.find("WORK;9;") != std::string::npos);
  CHECK(now.find("WORK;10;") == std::string::npos);
  CHECK(first_error(now).empty());
}

TEST_CASE("kinds and words of version 2 are unknown to version 1") {
  auto reader = open_text(
      "GPUPROF;1.4\nRANGE;x\nWORK;x\nHOST\nSHARE;1\nIDLE;1\nWINDOW;x\nLATENCY;x\nEVENT;x\nCALL;x\nSPAN;x\nCOVERAGE;"
      "x\n");
  REQUIRE(reader);
  for (int i = 0; i < 11; ++i) {
    auto next = reader->next();
    REQUIRE(next);
    REQUIRE(next->has_value());
    CHECK(std::holds_alternative<Unknown>(**next));
  }
  CHECK(reader->skipped_unknown() == 11);
  CHECK(reader->major() == 1);
  for (const char* op : {"graph", "launch", "sync", "migrate_dtoh"}) {
    CHECK(error_of(std::string("GPU;0;0;0;0;0;0;0;") + op + ";0;1;5;5;5;25;0;0") ==
          "p.txt:2: GPU: field 'op' is not an operation");
  }
  CHECK(error_of("PROCESS;1;1;1;1;0;0;0;0") == "p.txt:2: PROCESS: there are more fields than this kind of record has");
}

TEST_CASE("ids of version 1 are checked where they stand") {
  CHECK(error_of("GPU;0;3;0;0;0;0;0;kernel;0;1;1;1;1;1;0;0") == "p.txt:2: PROCESS 3 is not defined");
  CHECK(error_of("GPU;0;0;3;0;0;0;0;kernel;0;1;1;1;1;1;0;0") == "p.txt:2: STRING 3 is not defined");
  CHECK(error_of("GPU;0;0;0;3;0;0;0;kernel;0;1;1;1;1;1;0;0") == "p.txt:2: USTACK 3 is not defined");
  CHECK(error_of("GPU;0;0;0;0;3;0;0;kernel;0;1;1;1;1;1;0;0") == "p.txt:2: KSTACK 3 is not defined");
  CHECK(error_of("GPU;0;0;0;0;0;3;0;kernel;0;1;1;1;1;1;0;0") == "p.txt:2: DEVICE 3 is not defined");
  CHECK(error_of("GPU;0;0;0;0;0;0;0;kernel;3;1;1;1;1;1;0;0") == "p.txt:2: STRING 3 is not defined");
  CHECK(error_of("LAUNCH;0;0;0;0;0;3;1") == "p.txt:2: STRING 3 is not defined");
  CHECK(error_of("GPU;0;0;0;0;0;0;0;walk;0;1;1;1;1;1;0;0") == "p.txt:2: GPU: field 'op' is not an operation");
  CHECK(error_of("GPU;0;0;0;0;0;0;0;kernel;0;2;41;10;20;0;0;0") ==
        "p.txt:2: GPU: field 'sum_ns' is not between count * min_ns and count * max_ns");
}

TEST_CASE("a measurement whose work is refused goes with it, and the next one is tried anew") {
  const std::string line = "GPU;0;0;0;5;0;0;0;kernel;0;1;1;1;1;1;0;0\n";
  auto reader = open_text("GPUPROF;1.0\n" + line + line + "USTACK;5;a\n" + line + line, true);
  REQUIRE(reader);
  Tables tables;
  size_t measured = 0;
  for (;;) {
    auto next = reader->next();
    REQUIRE(next);
    if (!next->has_value()) {
      break;
    }
    if (tables.add(**next)) {
      reader->count_bad();
    } else if (std::holds_alternative<Gpu>(**next)) {
      ++measured;
    }
  }
  CHECK(reader->skipped_bad() == 2);
  CHECK(measured == 2);
  CHECK(tables.works().size() == 1);
}
