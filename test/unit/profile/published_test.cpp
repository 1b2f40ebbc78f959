#include <vector>

#include "catch.h"
#include "text_input.h"

using namespace gpuprof;
using namespace gpuprof::profile;
using gpuprof::test::first_error;
using gpuprof::test::open_text;
using gpuprof::test::rewritten;

TEST_CASE("the published form has no escapes, and text may contain semicolons") {
  CHECK(rewritten("STRING;7;python3;x\\x41\nINSN_TEXT;7;mad(8) r10 ; {$1}\nUSTACK;3;main;42;0xAB;\n") ==
        "GPUPROF;3.6\nSTRING;1;python3\\x3bx\\x5cx41\nSTRING;2;mad(8) r10 \\x3b {$1}\n"
        "USTACK;3;main;\\x342;0xab\n");
}

TEST_CASE("samples become works, code locations and stall reasons, each defined once") {
  const std::string definitions =
      "STRING;9;app\nUSTACK;2;main\nKSTACK;3;sys\nGPU_FILE;4;a.cl\nGPU_SYMBOL;5;saxpy\nINSN_TEXT;6;mad\n";
  const std::string line = "EUSTALL;9;100;2;3;4;5;6;1;0x40;7\n";
  const std::string own =
      "GPUPROF;3.6\nSTRING;1;app\nUSTACK;2;main\nKSTACK;3;sys\nSTRING;2;a.cl\nGPU_MODULE;2;2;0\nSTRING;3;saxpy\n"
      "STRING;4;mad\nPROCESS;1;100;0;0;1;0;0;0\nWORK;1;1;0;0;2;3;0;0;0;0;kernel;3;0\nGPU_PLACE;1;2;3;0x40;4\n"
      "STRING;5;active\nEUSTALL;0;1;1;5;0;7;0\n";
  CHECK(rewritten(definitions + line) == own);
  CHECK(first_error(own).empty());
  // If all its definitions exist, a sample adds just one EUSTALL record.
  CHECK(rewritten(definitions + line + line) == own + "EUSTALL;0;1;1;5;0;7;0\n");
  CHECK(rewritten(definitions + line + "EUSTALL;9;100;2;3;4;5;6;1;72;7\n") ==
        own + "GPU_PLACE;2;2;3;0x48;4\nEUSTALL;0;1;2;5;0;7;0\n");
  CHECK(rewritten(definitions + line + "EUSTALL;9;101;2;3;4;5;6;1;64;7\n") ==
        own + "PROCESS;2;101;0;0;1;0;0;0\nWORK;2;2;0;0;2;3;0;0;0;0;kernel;3;0\nEUSTALL;0;2;1;5;0;7;0\n");
  CHECK(rewritten(definitions + "PROC_NAME;9;100\n").ends_with("\nPROCESS;1;100;0;0;1;0;0;0\n"));
}

TEST_CASE("every stall type has a name, and unknown types have a number") {
  const std::vector<std::string> names = {"active", "control",    "pipestall", "send", "dist_acc", "sbid",
                                          "sync",   "inst_fetch", "other",     "tdr",  "type 11"};
  for (size_t i = 0; i < names.size(); ++i) {
    const std::string own = rewritten("EUSTALL;0;1;0;0;0;0;0;" + std::to_string(i + 1) + ";0;3\n");
    CHECK(own.find("\nSTRING;1;" + names[i] + "\nEUSTALL;0;1;1;1;0;3;0\n") != std::string::npos);
  }
  CHECK(rewritten("EUSTALL;0;1;0;0;0;0;0;0;0;3\n").ends_with("\nEUSTALL;0;1;1;0;0;3;0\n"));
  CHECK(rewritten("EUSTALL;0;1;0;0;0;0;0;4294967295;0;3\n").find(";type 4294967295\n") != std::string::npos);
}

TEST_CASE("errors in the published form use its own record names and ids") {
  CHECK(first_error("EUSTALL;0;1;0;0;3;0;0;1;0;1\n") == "p.txt:1: GPU_FILE 3 is not defined");
  CHECK(first_error("EUSTALL;0;1;0;0;0;3;0;1;0;1\n") == "p.txt:1: GPU_SYMBOL 3 is not defined");
  CHECK(first_error("EUSTALL;0;1;0;0;0;0;3;1;0;1\n") == "p.txt:1: INSN_TEXT 3 is not defined");
  CHECK(first_error("EUSTALL;3;1;0;0;0;0;0;1;0;1\n") == "p.txt:1: STRING 3 is not defined");
  CHECK(first_error("EUSTALL;0;1;3;0;0;0;0;1;0;1\n") == "p.txt:1: USTACK 3 is not defined");
  CHECK(first_error("EUSTALL;0;1;0;3;0;0;0;1;0;1\n") == "p.txt:1: KSTACK 3 is not defined");
  CHECK(first_error("PROC_NAME;3;1\n") == "p.txt:1: STRING 3 is not defined");
  CHECK(first_error("EUSTALL;0;1;0;0;0;0;0;1;0\n") == "p.txt:1: EUSTALL: field 'count' is missing");
  CHECK(first_error("EUSTALL;0;1;0;0;0;0;0;1;0;1;1\n") ==
        "p.txt:1: EUSTALL: there are more fields than this kind of record has");
  CHECK(first_error("GPU_FILE;5;a\nGPU_FILE;5;b\n") == "p.txt:2: GPU_FILE 5 is already defined, with another value");
  CHECK(first_error("GPU_FILE;5;a\nGPU_FILE;5;a\nGPU_SYMBOL;5;b\n").empty());
  CHECK(first_error("USTACK;1;a\nUSTACK;1;b\n") == "p.txt:2: USTACK 1 is already defined, with another value");
  CHECK(first_error("STRING;0;a\n") == "p.txt:1: STRING: field 'id' is 0, but ids begin at 1");
  CHECK(first_error("STRING;1;a\nsome words\n") ==
        "p.txt:2: this is not a record: a line begins with its kind, in upper case");
}

TEST_CASE("a rejected line is counted once, and retried when it is repeated") {
  const std::string line = "EUSTALL;0;1;5;0;0;0;0;1;0;1\n";
  auto reader = open_text(line + line + "USTACK;5;a\n" + line + line, true);
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
    } else if (std::holds_alternative<EuStall>(**next)) {
      ++measured;
    }
  }
  CHECK(reader->skipped_bad() == 2);
  CHECK(measured == 2);
  CHECK(tables.works().size() == 1);
}

TEST_CASE("record kinds of the native form are unknown in the published form") {
  auto reader = open_text("STRING;1;a\nMETA;a;b\nGPU;1\nINTERVAL;7\n");
  REQUIRE(reader);
  CHECK(reader->is_published_form());
  for (int i = 0; i < 4; ++i) {
    auto next = reader->next();
    REQUIRE(next);
    CHECK(std::holds_alternative<Unknown>(**next) == (i > 0));
  }
  CHECK(reader->skipped_unknown() == 3);
}
