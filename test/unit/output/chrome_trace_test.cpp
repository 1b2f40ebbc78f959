// test/golden/options/check_chrome.py checks the structure of traces. These tests check that no profile breaks a trace.
#include "output/chrome_trace.h"

#include <nlohmann/json.hpp>
#include <string>

#include "catch.h"
#include "profile/random_profile.h"
#include "profile/tables.h"
#include "profile/text_input.h"

using namespace gpuprof;

namespace {

const analyze::StackOptions kShown;

struct Exported {
  std::string text;
  uint64_t events = 0;
  uint64_t left_out = 0;
};

Exported exported(const std::string& profile) {
  Exported out;
  auto reader = test::open_text(profile, true);
  if (!reader) {
    return out;
  }
  profile::Tables tables;
  const auto trace = output::chrome_trace(tables, kShown, [&](std::string_view text) {
    out.text += text;
    return Status();
  });
  for (;;) {
    const auto next = reader->next();
    REQUIRE(next);
    if (!next->has_value()) {
      break;
    }
    if (!tables.add(**next)) {
      REQUIRE(trace->add(**next));
    }
  }
  REQUIRE(trace->finish());
  out.events = trace->events();
  out.left_out = trace->left_out();
  return out;
}

size_t count(const std::string& text, const std::string& part) {
  size_t found = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) {
    ++found;
  }
  return found;
}

}  // namespace

TEST_CASE("a trace shows every event, call and range once") {
  for (unsigned seed = 0; seed < 60; ++seed) {
    INFO("seed " << seed);
    const test::RandomProfile random(seed);
    const Exported trace = exported(random.text);
    CHECK(trace.events == random.events);
    CHECK(nlohmann::json::accept(trace.text));
    const size_t shown =
        count(trace.text, "{\"ph\":\"X\"") + count(trace.text, "{\"ph\":\"i\"") + count(trace.text, "{\"ph\":\"b\"");
    const size_t notes = count(trace.text, "\"s\":\"g\"");
    CHECK(shown == random.events - trace.left_out + notes);
    CHECK(count(trace.text, "{\"ph\":\"s\"") == count(trace.text, "{\"ph\":\"f\""));
    CHECK(count(trace.text, "{\"ph\":\"b\"") == count(trace.text, "{\"ph\":\"e\""));
  }
}

TEST_CASE("a damaged profile makes a valid trace") {
  for (unsigned seed = 0; seed < 200; ++seed) {
    INFO("seed " << seed);
    const Exported trace = exported(test::damaged(test::RandomProfile(seed % 20).text, seed));
    if (trace.text.empty()) {
      continue;  // the first line was damaged, so the profile was rejected
    }
    CHECK(nlohmann::json::accept(trace.text));
  }
}

TEST_CASE("a trace ends with the first failure of its file") {
  profile::Tables tables;
  const auto trace =
      output::chrome_trace(tables, kShown, [](std::string_view) -> Status { return Error{"disk full"}; });
  const Status finished = trace->finish();
  REQUIRE_FALSE(finished);
  CHECK(finished.error().message == "disk full");
}

TEST_CASE("the stack of an event is that of the flame graph") {
  const std::string defined =
      "GPUPROF;3.0\nSTRING;1;app\nSTRING;2;main\nSTRING;3;ioctl\nFRAME;1;native;2;0;0;0;0;0\n"
      "FRAME;2;kernel;3;0;0;0;0;0\nUSTACK;1;1\nKSTACK;1;2\nPROCESS;1;100;1;1;1;0;0;0\n"
      "WORK;1;1;7;0;1;1;0;0;0;0;kernel;0;0\nEVENT;1;1;10;20;0;0;0\n";
  const std::string frames = exported(defined).text;
  CHECK(frames.find("\"1\":{\"name\":\"main\"},\n\"2\":{\"name\":\"-\",\"parent\":\"1\"},\n"
                    "\"3\":{\"name\":\"ioctl\",\"parent\":\"2\"}}") != std::string::npos);
}

TEST_CASE("a trace scales failed calls and the coverage of an estimate by process, as other outputs do") {
  // Process 1 made twice as many launches as its windows stand for. Process 2 was recorded completely.
  const std::string text =
      "GPUPROF;3.5\nSTRING;1;cuLaunchKernel: error\nPROCESS;1;7;0;0;0;0;0;0\nPROCESS;2;8;0;0;0;0;0;0\n"
      "WORK;1;1;7;0;0;0;0;0;0;0;kernel;1;0\nWORK;2;1;7;0;0;0;0;0;0;0;failed;1;0\n"
      "WORK;3;2;8;0;0;0;0;0;0;0;failed;1;0\nGPU;0;1;10;100;10;10;1000;0;0\nHOST;0;2;30;0;0;0;0\nHOST;0;3;5;0;0;0;0\n"
      "EVENT;1;1;10;20;0;0;0\nLOSS;1;ring_full;1\nWINDOW;10;20;10\n"
      "COVERAGE;1;matched;1\nCOVERAGE;1;represented;20\nCOVERAGE;1;weighted;10\n";
  const std::string trace = exported(text).text;
  CHECK(trace.find("65 calls failed: cuLaunchKernel: error 65") != std::string::npos);
  CHECK(trace.find("0.00% of the GPU work is explained by a CPU stack: 0 of 40, of which 20 were lost") !=
        std::string::npos);
  CHECK(trace.find("numbers of failed calls and of GPU work with a CPU stack are estimates of the complete time") !=
        std::string::npos);
}
