#include "output/trust.h"

#include "catch.h"

using namespace gpuprof;
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

TEST_CASE("a clean profile, or one without COVERAGE, has no trust footer") {
  CHECK(trust_lines(clean()).empty());
  analyze::ProfileInfo old;
  old.losses = {{"ring_full", 5}};
  CHECK(trust_lines(old).empty());
}

TEST_CASE("each kind of missing data causes a footer") {
  for (const char* what :
       {"unsampled", "without_record", "without_stack", "without_launch", "samples_without_launch"}) {
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

TEST_CASE("the footer shows recorded and missing data in numbers and percent") {
  analyze::ProfileInfo info = clean();
  info.with_stack = 900;
  info.unsampled = 80;
  info.covered = {1000, 900, 1254};
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
            "7 GPU records outside of --nvtx-range are left out",
            "39.92% of the GPU work is explained by a CPU stack: 900 of 2,254, of which 1,254 were lost"});
}

TEST_CASE("equal shares print the same percentage as the coverage") {
  analyze::ProfileInfo info = clean();
  info.coverage = {{"launches", 3}, {"matched", 2}, {"without_record", 1}};
  info.gpu_records = 3;
  info.with_stack = 2;
  info.covered = {3, 2, 0};
  CHECK(output::trust_lines(info) ==
        std::vector<std::string>{"3 launches: 2 matched with GPU work (66.66%), 1 without GPU work (33.34%)",
                                 "3 GPU records: 2 with a CPU stack (66.66%)",
                                 "66.66% of the GPU work is explained by a CPU stack: 2 of 3"});
}

TEST_CASE("an estimate is said before everything else") {
  analyze::ProfileInfo info = clean();
  info.windows = 41;
  CHECK(output::gap_lines(info).empty());
  info.weighted_windows = true;
  CHECK(output::gap_lines(info).front() ==
        "all numbers are estimates from 41 windows of the time (--max-overhead), error unknown");
  info.coverage["launches"] = 2100;
  info.coverage["between_windows"] = 97'900;
  info.coverage["weighted"] = 90'000;
  info.weighted_windows = false;  // a short run, of which only the first window was recorded
  const std::string line =
      "all numbers are estimates from 41 windows of the time (--max-overhead), error unknown, with 2,100 of 100,000 "
      "launches";
  CHECK(output::gap_lines(info).front() == line);
  CHECK(output::notice_lines(info).front() == line);
  info.margin = "3.10%";
  info.losses = {{"ring_full", 1}};
  info.coverage["without_record"] = 105;
  info.coverage["without_stack"] = 3;
  info.represented_counts = {{profile::CoverageCount::without_stack, 150}};
  info.samples = 5;
  CHECK(output::trust_lines(info)[0] ==
        "2,100 launches in windows: 1,000 matched with GPU work (47.61%), 200 "
        "captured into graphs (9.53%), 105 without GPU work (5.00%)");
  CHECK(output::trust_lines(info)[1].find("150 whose stack is missing") != std::string::npos);
  CHECK(output::trust_lines(info)[2].starts_with("lost in windows: ring_full 1"));
  CHECK(output::gap_lines(info).front().ends_with("launches, but samples are only those in windows"));
  info.samples = 0;
  info.only_in_windows = true;
  CHECK(output::gap_lines(info).front() ==
        "the launches are only those in 41 windows of the time (--max-overhead), 2,100 of 100,000 launches");
  info.processes = {profile::ProcessId{1}, profile::ProcessId{2}};
  info.estimated_processes = {profile::ProcessId{2}};
  CHECK(output::gap_lines(info).front() ==
        "the launches of 1 of 2 processes are only those in windows of the time (--max-overhead)");
  CHECK(output::gap_lines(info).back() == "lost (some only in windows): ring_full 1");
}

TEST_CASE("the notice of other outputs holds each gap and the coverage") {
  using output::notice_lines;
  CHECK(notice_lines(clean()).empty());
  analyze::ProfileInfo info = clean();
  info.covered = {1000, 900, 5};
  info.complete = false;
  info.losses = {{"ring_full", 1234}};
  info.skipped_bad = 2;
  info.warnings = {"END says otherwise"};
  info.meta.emplace("filter", "--rank 3");
  CHECK(notice_lines(info) ==
        std::vector<std::string>{
            "the profile is a subset of another: only what matches --rank 3",
            "the profile is cut short: it has no END record", "lost: ring_full 1,234", "bad lines skipped: 2",
            "END says otherwise",
            "89.55% of the GPU work is explained by a CPU stack: 900 of 1,005, of which 5 were lost"});
  info.meta.emplace("recording.window", "--last 1 s");
  CHECK(notice_lines(info).front() == "recorded only a part of the program's run: --last 1 s");
  for (int i = 0; i < 100; ++i) {
    info.losses["made_up_" + std::to_string(i)] = 1;
  }
  CHECK(output::loss_text(info).ends_with(", 69 more reasons"));
}

TEST_CASE("samples that were asked for and not taken are missed, with the reasons") {
  analyze::ProfileInfo info = clean();
  CHECK(output::no_samples_text(info).empty());
  info.meta.emplace("recording.samples", "continuous");
  CHECK(output::no_samples_text(info) == "no samples of GPU code were taken");
  info.meta.emplace("process.1.cuda.sampling.off",
                    "too\x01"
                    "old");
  info.meta.emplace("process.2.cuda.sampling.off",
                    "too\x01"
                    "old");
  CHECK(output::no_samples_text(info) == "no samples of GPU code were taken: too\\x01old");
  info.samples = 1;
  CHECK(output::no_samples_text(info).empty());
}

TEST_CASE("the footer shows complete stacks and stack depth if they are known") {
  using output::stack_lines;
  using output::truncated_text;
  CHECK(stack_lines(clean()).empty());
  CHECK(truncated_text(clean()).empty());
  analyze::ProfileInfo info = clean();
  info.coverage["stack_whole"] = 19999;
  info.coverage["stack_truncated"] = 1;
  info.coverage["stack_no_python"] = 5000;
  info.meta = {{"stack_engine", "inproc"},
               {"stack_depth.native_median", "45"},
               {"stack_depth.native_max", "1024"},
               {"stack_depth.python_median", "12"}};
  REQUIRE(stack_lines(info).size() == 2);
  CHECK(
      stack_lines(info)[0] ==
      "stacks (inproc): 99.99% of 20,000 launches reach the start of their thread, 1 are truncated (0.01%), 5,000 are "
      "of threads without Python frames (25.00%)");
  CHECK(stack_lines(info)[1] == "depth: 45 native frames in the median and 1,024 at most");
  CHECK(truncated_text(info) == "1 of 20,000 launches (0.01%) has a truncated stack");
  info.meta.insert({"stack_depth.native_median", "50"});
  info.meta.insert({"stack_depth.native_max", "wrong"});
  info.meta.insert({"stack_depth.native_max", "99999999999999999999999"});
  info.meta.insert({"stack_depth.python_max", "31"});
  CHECK(stack_lines(info)[1] ==
        "depth: 45 to 50 native frames in the median and 1,024 at most, 12 Python frames in the median and 31 at most");
  info.coverage["stack_whole"] = 0;
  CHECK(stack_lines(info)[0].starts_with("stacks (inproc): 0.00% of 1 launch reaches the start of its thread"));
  info.coverage["stack_whole"] = UINT64_MAX;  // this value must not overflow the percentage
  CHECK(stack_lines(info)[0].starts_with("stacks (inproc): 100.00% of"));
}

TEST_CASE("a note of several processes is shown once, and a hostile profile has few notes") {
  analyze::ProfileInfo info = clean();
  info.meta.emplace("process.1.note.torch_profiler", "no CUDA rows");
  info.meta.emplace("process.2.note.torch_profiler", "no CUDA rows");
  info.meta.emplace("process.1.note.x", "a\x1b[2Jb");
  info.meta.emplace("process.1.cupti.path", "/x.note.y");
  info.meta.emplace("note.unrecorded", "process 7 (app) has no library");
  const auto lines = output::note_lines(info);
  REQUIRE(lines.size() == 3);
  CHECK(lines[0].find('\x1b') == std::string::npos);
  CHECK(lines[1] == "note: no CUDA rows");
  CHECK(lines[2] == "note: process 7 (app) has no library");
  for (int i = 0; i < 100; ++i) {
    info.meta.emplace("process.3.note." + std::to_string(i), std::to_string(i));
  }
  CHECK(output::note_lines(info).size() == 17);
}
