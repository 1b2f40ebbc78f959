#include "record/summary.h"

#include <sys/wait.h>

#include "catch.h"

using namespace gpuprof::record;

namespace {

SummaryFacts clean() {
  SummaryFacts facts;
  facts.totals.launches = 1000;
  facts.totals.gpu_records = 1000;
  facts.totals.with_stack = 1000;
  facts.totals.coverage[gpuprof::profile::CoverageCount::launches] = 1000;
  facts.totals.coverage[gpuprof::profile::CoverageCount::matched] = 1000;
  facts.file = "p.txt";
  facts.target_end = "0";
  return facts;
}

std::string shown(const SummaryFacts& facts) {
  std::string text;
  for (const std::string& line : summary_of(facts).lines) {
    text += line + "\n";
  }
  return text;
}

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("a clean recording reports that it lost nothing") {
  const std::string line = shown(clean());
  CHECK(has(line, "coverage 100.00%, lost nothing"));
  CHECK(has(line, "target: exit status 0"));
  CHECK(line ==
        "coverage 100.00%, lost nothing\n1000 launches, 1000 GPU records, 0 ns GPU time, 0 stacks\n"
        "gpuprof itself 0.00% of a core\nwrote p.txt (0 B), target: exit status 0\n");
}

TEST_CASE("the summary has lines of at most 100 columns, losses first") {
  SummaryFacts facts = clean();
  for (const char* reason : {"bpf_ring_full", "details_lost", "invalid_timestamp", "memory_limit", "ring_busy",
                             "ring_full", "target_no_memory", "unfinished"}) {
    facts.totals.lost[reason] = 1'234'567;
  }
  facts.totals.coverage[gpuprof::profile::CoverageCount::without_stack] = 12'345;
  facts.totals.coverage[gpuprof::profile::CoverageCount::without_launch] = 12'345;
  facts.totals.coverage[gpuprof::profile::CoverageCount::before_attach] = 1;
  facts.overhead = {.samples = 1000, .ns = 1'000'000};
  facts.wall_ns = 1'000'000'000;
  facts.recorded_ns = 1'000'000'000;
  facts.recorder_cpu_ns = 30'000'000;
  facts.other_cpu_ns = 500'000'000;
  facts.around = {{.attach_ns = 400'000'000, .leave_ns = 1'500'000'000}};
  const auto lines = summary_of(facts).lines;
  REQUIRE(lines.size() > 4);
  for (const std::string& line : lines) {
    CHECK(line.size() + std::string("gpuprof: ").size() <= 100);
  }
  CHECK(lines.front().starts_with("coverage "));
  const std::string all = shown(facts);
  CHECK(has(all, "1 (0.10%) GPU records launched before gpuprof was attached"));
  CHECK(has(all, "gpuprof itself 3.00% of a core"));
  CHECK(has(all, "500 ms of CPU time before and after"));
  CHECK(has(all, "recorded 1.00 s, attaching took 400 ms, detaching took 1.50 s"));
}

TEST_CASE("the summary names the limit on descriptors if it was the reason for an empty profile") {
  SummaryFacts facts;
  facts.file = "p.txt";
  facts.lacked_descriptors = true;
  facts.unrecorded = "opencl (cannot read the OpenCL loader)";
  const Summary summary = summary_of(facts);
  CHECK(summary.is_warning);
  CHECK(summary.lines.front() ==
        "gpuprof had too few file descriptors to record the target: p.txt is an empty profile");
  CHECK(summary.hint == "raise the limit on open files (ulimit -n)");
}

TEST_CASE("the summary says that the overhead exceeds its limit") {
  SummaryFacts facts = clean();
  facts.overhead = {.samples = 1000, .ns = 22'000'000};  // 22 us for each of 1000 launches
  facts.wall_ns = 1'000'000'000;
  CHECK(exceeded_line(facts).empty());
  facts.duty_cycle = true;
  facts.max_overhead = 2.2;
  CHECK(exceeded_line(facts).empty());
  facts.max_overhead = 0.01;
  CHECK(
      has(shown(facts), "\noverhead 2.20% exceeds --max-overhead 0.01%: the run is too short for its first window\n"));
  CHECK(exceeded_line(facts) ==
        "overhead 2.20% exceeds --max-overhead 0.01%: the run is too short for its first window");
  facts.wall_ns = 60'000'000'000;
  CHECK(exceeded_line(facts) == "overhead 0.04% exceeds --max-overhead 0.01%: even its rarest windows cost more");
}

TEST_CASE("the summary names processes that still run") {
  SummaryFacts facts = clean();
  CHECK(running_line(facts).empty());
  facts.still_running = {"42 (sh)"};
  CHECK(has(shown(facts), "\nprocess 42 (sh) still runs, its later work is not in the profile\n"));
  facts.still_running = {"42 (sh)", "43 (python3)"};
  CHECK(running_line(facts) == "processes 42 (sh) and 43 (python3) still run, their later work is not in the profile");
  facts.still_running = {"42 (sh)", "43 (python3)", "44 (c)", "45 (d)"};
  CHECK(running_line(facts) ==
        "processes 42 (sh), 43 (python3) and 2 more still run, their later work is not in the profile");
  facts = {};
  facts.still_running = {"42 (sh)"};
  CHECK(has(shown(facts), "process 42 (sh) still runs"));  // nothing was recorded
}

TEST_CASE("the summary reports samples if there are any, and counts them as recorded data") {
  CHECK_FALSE(has(shown(clean()), "samples"));
  SummaryFacts facts = clean();
  facts.totals.samples = 4711;
  CHECK(has(shown(facts), ", 4711 samples, "));
  CHECK_FALSE(has(shown(facts), "incomplete"));
  facts.totals.coverage[gpuprof::profile::CoverageCount::samples_without_launch] = 2;
  CHECK(has(shown(facts), "2 (0.05%) samples without a known launch"));
  facts.totals.gpu_records = 0;
  facts.totals.with_stack = 0;
  facts.totals.samples_with_stack = 4000;
  facts.totals.lost["samples_dropped"] = 289;
  CHECK(covered_work(facts).recorded == 4711);
  CHECK(covered_work(facts).percent() == 80);
  facts.totals.launches = facts.totals.gpu_records = facts.totals.with_stack = 0;
  CHECK(has(shown(facts), ", 4711 samples, "));
}

TEST_CASE("launches without a GPU record are lost work, in the summary and in the coverage") {
  SummaryFacts facts = clean();
  facts.totals.gpu_records = facts.totals.with_stack = facts.totals.coverage[gpuprof::profile::CoverageCount::matched] =
      843;
  facts.totals.coverage[gpuprof::profile::CoverageCount::without_record] = 157;
  facts.target_end = target_end(SIGKILL, true);
  const std::string line = shown(facts);
  CHECK_FALSE(has(line, "lost nothing"));
  SummaryFacts nothing;
  nothing.totals.launches = nothing.totals.coverage[gpuprof::profile::CoverageCount::failed] =
      3;  // all launches failed
  CHECK(has(shown(nothing), "coverage 0% (no GPU work was recorded), lost nothing\n3 launches (3 FAILED)"));
  CHECK(has(line, "coverage 84.30%, LOST the GPU work of 157 launches"));
  CHECK(has(line, "target: signal 9 (SIGKILL)"));
  CHECK(covered_work(facts).percent_text() == "84.30%");
  facts.totals.lost["unfinished"] = 157;  // the same work
  CHECK(
      has(shown(facts), "coverage 84.30%, LOST unfinished 157\nincomplete: 157 (15.70%) launches without GPU work\n"));
  facts.totals.lost = {{"unfinished", 2}};
  CHECK(has(shown(facts), "LOST unfinished 2, the GPU work of 157 launches"));
}

TEST_CASE("with --rotate the summary names the files with the earlier work") {
  SummaryFacts facts = clean();
  facts.kept = {3'140'000'000, 400, 5'000'000, {}};
  CHECK(has(shown(facts), "the profile has only the last 3.14 s, 400 GPU records, 5.00 ms GPU time\n"));
  facts.kept->earlier = {"p.5.txt"};
  CHECK(has(shown(facts), "\nan earlier part is in p.5.txt\n"));
  facts.kept->earlier = {"p.5.txt", "p.6.txt"};
  CHECK(has(shown(facts), "earlier parts are in p.5.txt and p.6.txt\n"));
  facts.kept->earlier = {"p.5.txt", "p.6.txt", "p.7.txt"};
  CHECK(has(shown(facts), "earlier parts are in 3 files, p.5.txt to p.7.txt\n"));
}

TEST_CASE("with --max-overhead the summary tells recorded and estimated numbers apart") {
  SummaryFacts facts = clean();
  facts.totals.launches = 1500;  // also those just before windows
  facts.totals.gpu_records = 8000;
  facts.totals.with_stack = 8000;
  facts.totals.gpu_ns = 80'000'000;
  facts.totals.coverage[gpuprof::profile::CoverageCount::launches] = 1000;
  facts.totals.coverage[gpuprof::profile::CoverageCount::weighted] = 8000;
  // Each process has its own scale.
  facts.totals.estimated[gpuprof::profile::ProcessId{1}] = {6000, 30'000'000, 6000, 6000, 6000, 750};
  facts.totals.estimated[gpuprof::profile::ProcessId{2}] = {2000, 50'000'000, 4000, 2000, 1000, 250};
  facts.totals.coverage[gpuprof::profile::CoverageCount::between_windows] = 9000;
  facts.windows = 41;
  CHECK(has(shown(facts), "recorded 1000 launches of 10000 in 41 windows"));
  CHECK(has(shown(facts), "estimate: 10000 GPU records, 130 ms GPU time"));
  CHECK(covered_work(facts).percent_text() == "80.00%");
  facts.totals.coverage[gpuprof::profile::CoverageCount::without_stack] = 400;
  CHECK(has(shown(facts), "incomplete: 500 (5.00%) GPU records whose stack is missing"));
  // A lost launch counts as much as a recorded one of its process: 8 and 16 times.
  facts.totals.losses[gpuprof::profile::ProcessId{1}].without_record = 250;
  facts.totals.losses[gpuprof::profile::ProcessId{2}].without_record = 500;
  CHECK(covered_work(facts).lost == 10'000);
  CHECK(covered_work(facts).percent_text() == "40.00%");
}

TEST_CASE("losses other than GPU work are reported, but do not lower the coverage") {
  SummaryFacts facts = clean();
  facts.totals.lost = {{"details_lost", 3}};
  CHECK(has(shown(facts), "coverage 100.00%, LOST details_lost 3"));
  facts.totals.lost["ring_full"] = 1000;
  CHECK(covered_work(facts).percent() == 50);
}

TEST_CASE("an empty profile reports whether the target used a GPU at other times") {
  SummaryFacts facts;
  facts.file = "p.txt";
  CHECK(has(shown(facts), "the target used no GPU that gpuprof can see"));
  facts.unrecorded = "opencl (no layers)";
  CHECK(has(summary_of(facts).hint, "not seen here: opencl (no layers); gpuprof doctor"));
  facts.used_gpu = true;
  CHECK(has(shown(facts), "recording was never on: p.txt is an empty profile"));
  facts.windows = 1;
  CHECK(has(shown(facts), "the target launched no GPU work: p.txt has no GPU times"));
  facts.duty_cycle = true;
  CHECK(has(shown(facts), "no window of --max-overhead had GPU work: p.txt is an empty profile"));
  facts.duty_cycle = false;
  facts.only_a_window = true;
  CHECK(has(shown(facts), "gpuprof saw no GPU work of the target while recording was on"));
  facts.totals.off_records = 12;
  CHECK(has(summary_of(facts).hint, "12 GPU records while recording was off"));
  facts.only_a_window = false;
  facts.only_backends = "cupti";
  CHECK(!has(shown(facts), "--backend"));  // `unrecorded` has a better explanation
  facts.unrecorded.clear();
  CHECK(has(shown(facts), "the target launched no GPU work that --backend cupti records: p.txt is an empty profile"));
  facts.nvtx_range = "foo";
  facts.totals.coverage[gpuprof::profile::CoverageCount::outside_range] = 1;
  CHECK(has(shown(facts), "the target launched no GPU work inside of --nvtx-range foo"));
  facts.around.emplace();
  CHECK(has(shown(facts), "gpuprof saw no NVTX range foo in the attached process"));
  facts.around.reset();
  CHECK(has(summary_of(facts).hint,
            "check the name and the domain of the range (1 GPU record outside of it); gpuprof sees NVTX ranges of CUDA "
            "programs only"));
  CHECK(summary_of(facts).is_warning);
}

TEST_CASE("the end of a command is described by its status or signal") {
  CHECK(target_end(W_EXITCODE(3, 0), true) == "3");
  CHECK(target_end(SIGKILL, true) == "signal 9 (SIGKILL)");
  CHECK(target_end(SIGSEGV | 0x80, true) == "signal 11 (SIGSEGV)");
  CHECK(target_end({}, false) == "still running");
  CHECK(target_end({}, true) == "ended, its status is not known");
}

TEST_CASE("the summary reports names that are missing because of limits") {
  gpuprof::symbolize::ReadingBudget::LeftOut left_out;
  CHECK(left_out_line(left_out).empty());
  left_out.perf_maps = 2;
  left_out.addresses = 7;
  CHECK(left_out_line(left_out) ==
        "some functions or lines have no names because of limits of the recording: 2 perf maps cut short, 7 addresses "
        "not named, because the time limit for looking up names was reached");
}
