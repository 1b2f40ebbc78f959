#include "compare/run.h"

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "catch.h"
#include "compare/comparability_warnings.h"
#include "compare/setup.h"
#include "profile/text_input.h"
#include "small_runs.h"

using namespace gpuprof;
using compare::Run;

namespace {

Run run_of_text(const std::string& text, analyze::Measure measure = analyze::Measure::gpu) {
  auto reader = test::open_text("GPUPROF;3.0\n" + text);
  REQUIRE(reader);
  auto run = compare::read_run(*reader, "p.txt", {}, compare::kMostPathFrames, measure);
  INFO((run ? std::string() : run.error().message));
  REQUIRE(run);
  return std::move(run).value();
}

constexpr const char* kNames =
    "STRING;1;app\nSTRING;2;main\nSTRING;3;step\nSTRING;4;gemm\nSTRING;5;/a/site-packages/m.py\nSTRING;6;copy_all\n"
    "STRING;7;cupti\nSTRING;8;NVIDIA H100\n"
    "FRAME;1;native;2;0;0;0;0;0x0\nFRAME;2;python;3;5;10;0;0;0x0\nFRAME;3;python;3;5;20;0;0;0x0\n"
    "USTACK;1;1;2\nUSTACK;2;1;3\nUSTACK;3;1;2;3\nPROCESS;1;1;0;0;1;0;0;0\nDEVICE;1;7;0;8;0\nDEVICE;2;7;1;8;0\n";

std::string text_of(const Run& run, const compare::Path& path) {
  std::string text;
  for (const uint32_t function : path.functions) {
    text += run.functions[function].name + ";";
  }
  return text + run.kernels[path.kernel].name;
}

}  // namespace

TEST_CASE("paths that differ only in line numbers are one path") {
  const Run run = run_of_text(std::string(kNames) +
                              "WORK;1;1;1;0;1;0;0;0;1;0;kernel;4;0\nWORK;2;1;1;0;2;0;0;0;1;0;kernel;4;0\n"
                              "GPU;0;1;2;100;50;50;5000;0;0\nGPU;0;2;1;30;30;30;900;0;0\n");
  REQUIRE(run.paths.size() == 1);
  CHECK(text_of(run, run.paths[0]) == "main;step;gemm");
  CHECK(run.paths[0].cost.ns == 130);
  CHECK(run.paths[0].cost.count == 3);
  CHECK(test::named(run.functions, "step")->file == "m.py");
  CHECK(run.facts.devices == std::vector<std::string>{"NVIDIA H100"});
  CHECK(run.timed);
}

TEST_CASE("a function's total counts each launch once, however often it is in the stack") {
  const Run run = run_of_text(std::string(kNames) +
                              "WORK;1;1;1;0;3;0;0;0;1;0;kernel;4;0\nWORK;2;1;1;0;0;0;0;0;1;0;copy_htod;0;0\n"
                              "GPU;0;1;1;100;100;100;10000;0;0\nGPU;0;2;1;7;7;7;49;0;64\n");
  CHECK(run.total.ns == 107);
  CHECK(test::named(run.functions, "step")->total.ns == 100);
  CHECK(test::named(run.functions, "step")->direct.ns == 100);
  CHECK(test::named(run.functions, "main")->total.ns == 100);
  CHECK(test::named(run.functions, "main")->direct.ns == 0);
  REQUIRE(run.paths.size() == 2);
  CHECK(run.paths[1].functions.empty());  // this path has no CPU stack
  CHECK(test::named(run.kernels, "[copy HtoD]")->cost.ns == 7);
}

TEST_CASE("launches by the vendor's interface are direct launches of its caller") {
  const Run run = run_of_text(std::string(kNames) +
                              "STRING;9;cudaLaunchKernel\nFRAME;4;native;9;0;0;0;0;0x6\nUSTACK;4;1;2;4\n"
                              "WORK;1;1;1;0;4;0;0;0;1;0;kernel;4;0\nGPU;0;1;1;100;100;100;10000;0;0\n");
  CHECK(test::named(run.functions, "step")->direct.ns == 100);
  CHECK(test::named(run.functions, "cudaLaunchKernel")->direct.ns == 0);
  CHECK(test::named(run.functions, "cudaLaunchKernel")->total.ns == 100);
}

TEST_CASE("a graph node is below its capture, and a run without times counts launches") {
  const Run graph =
      run_of_text(std::string(kNames) + "WORK;1;1;1;0;1;0;2;0;1;0;kernel;4;1\nGPU;0;1;1;100;100;100;10000;0;0\n");
  CHECK(text_of(graph, graph.paths.at(0)) == "main;step;[captured at];main;step;gemm");
  CHECK(test::named(graph.functions, "[captured at]")->note);
  const Run launches = run_of_text(std::string(kNames) + "WORK;1;1;1;0;1;0;0;0;0;0;launch;6;0\nLAUNCH;0;1;5\n");
  CHECK_FALSE(launches.timed);
  CHECK(launches.total.count == 5);
}

TEST_CASE("work without a sampled stack is extrapolated over the stacks of the same work") {
  const std::string works =
      "STRING;9;other\nFRAME;4;native;6;0;0;0;0;0x0\nUSTACK;4;1;4\n"
      "WORK;1;1;1;0;1;0;0;0;1;0;kernel;4;0\nWORK;2;1;1;0;4;0;0;0;1;0;kernel;4;0\n"
      "WORK;3;1;1;0;0;0;0;0;1;0;kernel;4;UNSAMPLED\nWORK;4;1;1;0;0;0;0;0;1;0;kernel;9;UNSAMPLED\n"
      "GPU;0;1;3;300;100;100;30000;0;0\nGPU;0;2;1;100;100;100;10000;0;0\n"
      "GPU;0;3;4;401;100;101;40201;0;0\nGPU;0;4;1;7;7;7;49;0;0\n";
  const std::string flag = std::to_string(profile::kWorkUnsampled);
  std::string text = std::string(kNames) + works;
  for (size_t at = text.find("UNSAMPLED"); at != std::string::npos; at = text.find("UNSAMPLED")) {
    text.replace(at, 9, flag);
  }
  const Run run = run_of_text(text);
  CHECK(run.total.ns == 808);
  REQUIRE(run.paths.size() == 3);
  CHECK(text_of(run, run.paths[0]) == "main;step;gemm");
  CHECK(run.paths[0].cost.ns == 300 + 301);  // its own 300 ns, plus 3/4 of the unsampled time, rounded up
  CHECK(run.paths[0].cost.count == 3 + 3);
  CHECK(text_of(run, run.paths[1]) == "main;copy_all;gemm");
  CHECK(run.paths[1].cost.ns == 100 + 100);
  CHECK(text_of(run, run.paths[2]) == "[stack not sampled];other");  // no work item with this kernel has a stack
  CHECK(run.paths[2].cost.ns == 7);
}

TEST_CASE("facts about a run come from its META lines") {
  const Run run = run_of_text(
      "META;command;./app 3\nMETA;host;n1\nMETA;gpu.driver;580.95.05\nMETA;source.commit;abc\n"
      "META;gpu.sm_clock_mhz.NVIDIA H100;120 1980.5 1410 1980\nMETA;gpu.sm_clock_mhz.bad;x\n"
      "META;target.exit_status;0\n");
  CHECK(run.facts.command == "./app 3");
  CHECK(run.facts.driver == "580.95.05");
  CHECK(run.facts.commit == "abc");
  CHECK(run.facts.exit_status == "0");
  REQUIRE(run.facts.clocks.size() == 1);
  CHECK(run.facts.clocks.at("NVIDIA H100").mean_mhz == 1980.5);
}

TEST_CASE("facts about a merged profile do not depend on the order of its ranks") {
  const std::string first =
      "META;target.exit_status;0\nMETA;gpu.driver;PoCL 3\nMETA;host;a\nMETA;source.commit;1\n"
      "META;gpu.sm_clock_mhz.0;10 1000 900 1100\nMETA;gpu.sm_clock_mhz.1;10 1500 900 1600\n";
  const std::string second =
      "META;target.exit_status;signal 9 (SIGKILL)\nMETA;gpu.driver;NVIDIA 550\nMETA;host;b\nMETA;source.commit;1\n"
      "META;gpu.sm_clock_mhz.0;10 1200 900 1300\nMETA;gpu.sm_clock_mhz.1;10 1500 900 1600\n";
  for (const std::string& text : {first + second, second + first}) {
    const compare::RunFacts facts = run_of_text(text).facts;
    CHECK(facts.exit_status == "signal 9 (SIGKILL)");
    CHECK(facts.driver == "NVIDIA 550, PoCL 3");
    CHECK(facts.host == "a, b");
    CHECK(facts.commit == "1");
    CHECK(facts.clocks.count("0") == 0);
    REQUIRE(facts.clocks.count("1") == 1);
    CHECK(facts.clocks.at("1").mean_mhz == 1500);
  }
}

TEST_CASE("a run of another measure has the times of CPU threads by reason") {
  const std::string text =
      std::string(kNames) +
      "STRING;9;sleeps\nWORK;1;1;1;0;1;0;0;0;1;0;kernel;4;0\nWORK;2;1;1;0;1;0;0;0;0;0;cpu;0;0\n"
      "WORK;3;1;1;0;2;0;0;0;0;0;off_cpu;9;0\nGPU;0;1;2;100;50;50;5000;0;0\n"
      "HOST;0;2;3;30;10;10;0\nHOST;0;3;1;500;500;500;0\nIDLE;0;1;3;400\nIDLE;0;1;1;5\nIDLE;0;1;0;7\n";
  const auto paths = [&](analyze::Measure measure) {
    const Run run = run_of_text(text, measure);
    CHECK(run.timed);
    CHECK(run.facts.measure == measure);
    std::map<std::string, uint64_t> ns;
    for (const compare::Path& path : run.paths) {
      ns[text_of(run, path)] += path.cost.ns;
    }
    return ns;
  };
  using Paths = std::map<std::string, uint64_t>;
  CHECK(paths(analyze::Measure::gpu) == Paths{{"main;step;gemm", 100}});
  CHECK(paths(analyze::Measure::cpu) == Paths{{"main;step;[on CPU]", 30}});
  CHECK(paths(analyze::Measure::off_cpu) == Paths{{"main;step;[sleeps]", 500}});
  CHECK(paths(analyze::Measure::idle) == Paths{{"main;step;[sleeps]", 400},
                                               {"main;step;[idle before gemm]", 5},
                                               {"[idle: nothing launched any more]", 7}});
}

TEST_CASE("a profile without --cpu has no times of CPU threads to compare") {
  const Run run =
      run_of_text(std::string(kNames) + "WORK;1;1;1;0;1;0;0;0;1;0;kernel;4;0\nGPU;0;1;2;100;50;50;5000;0;0\n",
                  analyze::Measure::cpu);
  const Status status = compare::check_comparable({&run, 1}, {&run, 1});
  REQUIRE_FALSE(status);
  CHECK(status.error().message == "p.txt has no times of CPU threads");
  CHECK(status.error().hint == "record the program with --cpu");
}

TEST_CASE("runs with and without CPU stacks differ") {
  const std::string text = std::string(kNames) + "META;recording;1\nMETA;stack_engine;";
  const Run with = run_of_text(text + "inproc\n");
  const Run without = run_of_text(text + "none\n");
  const std::vector<const compare::RunFacts*> alike = {&without.facts, &without.facts};
  const std::vector<const compare::RunFacts*> runs = {&without.facts, &with.facts};
  CHECK(compare::recording_differences(alike).empty());
  CHECK(compare::recording_differences(runs) ==
        std::vector<std::string>{
            "p.txt was recorded with CPU stacks and p.txt without, so call paths cannot be compared"});
}

TEST_CASE("runs by BPF and by polls differ in the causes that they find") {
  const std::string text =
      std::string(kNames) + "META;recording;1\nWORK;2;1;1;0;1;0;0;0;0;0;cpu;0;0\nHOST;0;2;3;30;10;10;0\n";
  for (const auto& [measure, differs] : {std::pair(analyze::Measure::cpu, true), {analyze::Measure::gpu, false}}) {
    const Run polled = run_of_text(text, measure);
    const Run exact = run_of_text(text + "META;off_cpu.lost;0\n", measure);
    const std::vector<const compare::RunFacts*> runs = {&polled.facts, &exact.facts};
    CHECK(compare::recording_differences(runs).empty() != differs);
  }
}
