#include "output/trust.h"

#include "catch.h"

using namespace gpuprof;
using output::coverage_text;
using output::trust_lines;

namespace {

analyze::ProfileInfo clean() {
  analyze::ProfileInfo info;
  info.complete = true;
  info.gpu_records = 1000;
  info.with_stack = 1000;
  info.coverage = {{"launches", 1200}, {"matched", 1000}, {"captured", 200}};
  return info;
}

}  // namespace

TEST_CASE("a clean profile has no trust footer, and neither has one without COVERAGE") {
  CHECK(trust_lines(clean()).empty());
  analyze::ProfileInfo old;
  old.losses = {{"ring_full", 5}};
  CHECK(trust_lines(old).empty());
}

TEST_CASE("each thing that was missed makes a footer") {
  for (const char* what : {"unsampled", "without_record", "without_stack", "without_launch"}) {
    analyze::ProfileInfo info = clean();
    info.coverage[what] = 1;
    CHECK_FALSE(trust_lines(info).empty());
  }
  analyze::ProfileInfo lost = clean();
  lost.losses = {{"ring_full", 0}};
  CHECK(trust_lines(lost).empty());
  lost.losses = {{"ring_full", 1}};
  CHECK_FALSE(trust_lines(lost).empty());
  analyze::ProfileInfo cut = clean();
  cut.complete = false;
  CHECK_FALSE(trust_lines(cut).empty());
}

TEST_CASE("the footer says what was seen and missed, in numbers and shares") {
  analyze::ProfileInfo info = clean();
  info.with_stack = 900;
  info.unsampled = 80;
  info.coverage_percent = 97.9999;
  info.losses = {{"bpf_ring_full", 20}, {"ring_full", 1234}, {"odd;\x01", 1}};
  info.coverage["without_record"] = 12;
  info.coverage["failed"] = 3;
  info.coverage["without_stack"] = 20;
  info.coverage["outside_range"] = 7;
  CHECK(trust_lines(info) ==
        std::vector<std::string>{
            "1,200 launches: 1,000 matched with GPU work (83.33%), 200 captured into graphs (16.67%), "
            "3 refused by the vendor's library (0.25%), 12 without GPU work (1.00%)",
            "1,000 GPU records: 900 with a CPU stack (90.00%), 80 left without one by --max-overhead (8.00%), "
            "20 whose stack is missing (2.00%)",
            "lost: bpf_ring_full 20, odd;\\x01 1, ring_full 1,234",
            "7 GPU records left out by choice: outside of --nvtx-range",
            "97.99% of the GPU work is explained by a CPU stack"});
}

TEST_CASE("coverage is rounded down") {
  CHECK(coverage_text(100) == "100.00%");
  CHECK(coverage_text(99.99999) == "99.99%");
  CHECK(coverage_text(0) == "0.00%");
}
