// Tests what the golden reports do not show: colours, extreme numbers, widths.
#include "output/report/report.h"

#include <algorithm>
#include <sstream>
#include <string>

#include "analyze/rows/summarize.h"
#include "base/text/utf8.h"
#include "catch.h"
#include "output/report/fit.h"
#include "output/report/page.h"
#include "profile/random_profile.h"
#include "profile/text_input.h"

using namespace gpuprof;
using analyze::SummaryOptions;
using output::ReportOptions;

namespace {

analyze::Aggregate read_all(const std::string& text) {
  auto reader = test::open_text(text);
  REQUIRE(reader);
  auto rows = analyze::aggregate(*reader, {.host = true, .idle = true, .squares = true});
  REQUIRE(rows);
  return std::move(rows).value();
}

std::string report(const analyze::Aggregate& rows, const ReportOptions& shape, const SummaryOptions& options = {}) {
  const analyze::Summary summary = analyze::summarize(rows, options);
  return collect_text([&](TextStream& out) { output::report_text(summary, shape, out); });
}

const char* const kTwoKernels = R"(GPUPROF;3.0
STRING;1;fast
STRING;2;slow
PROCESS;1;1;0;0;0;0;0;0
WORK;1;1;0;0;0;0;0;0;0;0;kernel;1;0
WORK;2;1;0;0;0;0;0;0;0;0;kernel;2;0
GPU;0;1;4;100;10;40;3000;0;0
GPU;0;2;2;2000;1000;1000;0;0;0
)";

}  // namespace

TEST_CASE("a duration that is longer than a column is shown in hours") {
  CHECK(output::short_duration(0) == "0 ns");
  CHECK(output::short_duration(1'230'000) == "1.23 ms");
  CHECK(output::short_duration(9'998'000'000'000) == "9,998 s");
  CHECK(output::short_duration(36'000'000'000'000) == "10 h");
  CHECK(output::short_duration(UINT64_MAX) == "5.1M h");
}

TEST_CASE("a path is cut at its front") {
  CHECK(output::cut_front("/src/train.py:17", 16) == "/src/train.py:17");
  CHECK(output::cut_front("/src/train.py:17", 15) == ".../train.py:17");
  CHECK(output::cut_front("\xC3\xA4\xC3\xB6\xC3\xBC\xC3\x9F", 4) == "\xC3\xA4\xC3\xB6\xC3\xBC\xC3\x9F");
  CHECK(output::cut_front("\xC3\xA4\xC3\xB6\xC3\xBC\xC3\x9F-", 4) == "...-");
}

TEST_CASE("colours are used only if they are requested") {
  const analyze::Aggregate rows = read_all(kTwoKernels);
  CHECK(report(rows, {.colors = false}).find('\033') == std::string::npos);
  const std::string colored = report(rows, {.colors = true});
  CHECK(colored.find("\033[1mTop kernels and copies\033[0m") != std::string::npos);
  // A line that switches on a colour must reset it before its end.
  std::istringstream lines(colored);
  for (std::string line; std::getline(lines, line);) {
    const size_t last = line.rfind("\033[");
    CHECK((last == std::string::npos || line.substr(last).starts_with("\033[0m")));
  }
}

TEST_CASE("the standard deviation is that of single calls, and unknown without squares") {
  const analyze::Aggregate rows = read_all(kTwoKernels);
  const analyze::Summary summary = analyze::summarize(rows);
  REQUIRE(summary.work.size() == 2);
  CHECK_FALSE(summary.work[0].deviation_ns);
  CHECK(summary.work[1].deviation_ns == 11);  // sqrt(3000 / 4 - 25 * 25)
}

TEST_CASE("names that would be equal when shortened keep the parts that differ") {
  const analyze::Aggregate rows = read_all(R"(GPUPROF;3.0
STRING;1;void ns::f(int)
STRING;2;void ns::f(float)
STRING;3;void ns::g(int)
PROCESS;1;1;0;0;0;0;0;0
WORK;1;1;0;0;0;0;0;0;0;0;kernel;1;0
WORK;2;1;0;0;0;0;0;0;0;0;kernel;2;0
WORK;3;1;0;0;0;0;0;0;0;0;kernel;3;0
GPU;0;1;1;10;10;10;100;0;0
GPU;0;2;1;10;10;10;100;0;0
GPU;0;3;1;10;10;10;100;0;0
)");
  const std::string text = report(rows, {});
  CHECK(text.find("  void ns::f(int)\n") != std::string::npos);
  CHECK(text.find("  void ns::f(float)\n") != std::string::npos);
  CHECK(text.find("  ns::g\n") != std::string::npos);
}

TEST_CASE("uninformative frames are hidden, unless all frames are requested") {
  const analyze::Aggregate rows = read_all(R"(GPUPROF;3.0
STRING;1;k
STRING;2;_start
STRING;3;main
STRING;4;[libx.so+0x12]
STRING;5;launch
PROCESS;1;1;0;0;0;0;0;0
FRAME;1;native;2;0;0;0;0;0x1
FRAME;2;native;3;0;0;0;0;0x2
FRAME;3;unknown;4;0;0;0;0;0x3
FRAME;4;native;5;0;0;0;0;0x4
USTACK;1;1;2;3;4
WORK;1;1;0;0;1;0;0;0;0;0;kernel;1;0
GPU;0;1;1;10;10;10;100;0;0
)");
  const std::string brief = report(rows, {});
  CHECK(brief.find("[libx.so+0x12]") == std::string::npos);
  CHECK(report(rows, {.full = true}).find("          [libx.so+0x12]\n") != std::string::npos);
  const std::string all = report(rows, {.from_start = true}, {.stacks = {.from_start = true}});
  CHECK(all.find("          _start\n          main\n          [libx.so+0x12]\n          launch\n") !=
        std::string::npos);
}

TEST_CASE("the busy time of ranks that share a device is not shown, and that of a subset is given as limits") {
  const std::string head =
      "GPUPROF;3.2\nMETA;recording;0123456789abcdef0123456789abcdef\nMETA;start_ns;1000\nMETA;interval_ns;100\n"
      "STRING;1;0\nSTRING;2;1\nSTRING;3;opencl\n";
  const std::string first =
      "PROCESS;1;7;0;0;0;0;1;0\nDEVICE;1;3;0;3;0\nWORK;1;1;7;0;0;0;0;0;1;0;kernel;1;0\nGPU;0;1;1;30;30;30;900;0;0\n"
      "SHARE;0;1;0;15\n";
  const std::string second =
      "PROCESS;2;8;0;0;0;0;2;0\nWORK;2;2;8;0;0;0;0;0;1;0;kernel;2;0\nGPU;0;2;1;40;40;40;1600;0;0\n"
      "SHARE;0;2;40;25\nIDLE;0;1;2;60\n";
  const std::string tail = "WINDOW;1000;1100\nEND;1100;2;2;70;0;0;0\n";
  const analyze::Aggregate shared = read_all(head + first + second + tail);
  const auto ranks = analyze::summarize(shared).ranks;
  REQUIRE(ranks.size() == 2);
  CHECK((ranks[0].busy_ns == 0 && ranks[1].busy_ns == 0));
  CHECK(report(shared, {}).find(" of most     time    calls") != std::string::npos);
  const std::string limits = report(read_all(head + "META;filter;--rank 0\n" + first + tail), {});
  CHECK(limits.find("busy at least 15.00% (15 ns of 100 ns), at most 30 ns,") != std::string::npos);
}

TEST_CASE("a merged profile says which processes are estimated, and has no busy time that lacks their work") {
  const std::string text =
      "GPUPROF;3.5\nMETA;recording;0123456789abcdef0123456789abcdef\nMETA;recording;123456789abcdef0123456789abcdef0\n"
      "META;start_ns;1000\nMETA;interval_ns;100\nSTRING;1;0\nSTRING;2;1\nSTRING;3;opencl\nSTRING;4;host\n"
      "PROCESS;1;7;0;0;0;4;1;0\nDEVICE;1;3;0;3;4\nDEVICE;2;3;1;3;4\n"
      "WORK;1;1;7;0;0;0;0;0;1;0;kernel;1;0\nGPU;0;1;1;30;30;30;900;0;0\n"
      "COVERAGE;1;matched;1\nCOVERAGE;1;represented;10\nCOVERAGE;1;weighted;1\nWINDOW;1000;1025\n"
      "PROCESS;2;8;0;0;0;4;2;0\nWORK;2;2;8;0;0;0;0;0;1;0;kernel;2;0\nWORK;3;2;8;0;0;0;0;0;2;0;kernel;2;0\n"
      "GPU;0;2;1;40;40;40;1600;0;0\nGPU;0;3;1;40;40;40;1600;0;0\nSHARE;0;2;40;40\nSHARE;0;3;40;40\n"
      "IDLE;0;1;2;60\nIDLE;0;2;3;60\nCOVERAGE;2;matched;2\nWINDOW;1000;1100\nEND;1100;3;3;110;0;0;0\n";
  const analyze::Aggregate rows = read_all(text);
  const std::string shown = report(rows, {});
  CHECK(shown.find("device 0 opencl: GPU time 340 ns\n") != std::string::npos);
  CHECK(shown.find("device 1 opencl: busy 40.00% (40 ns of 100 ns), idle 60 ns\n") != std::string::npos);
  CHECK(rows.info.estimate_text() ==
        "numbers of 1 of 2 processes are estimates from windows of the time (--max-overhead), error unknown");
  const auto ranks = analyze::summarize(rows).ranks;
  REQUIRE(ranks.size() == 2);
  CHECK(ranks[0].weight.ns == 300);
  CHECK((ranks[0].busy_ns == 0 && ranks[1].busy_ns == 0));
}

TEST_CASE("the average of an estimate is at most its maximum, and at least its minimum") {
  const analyze::Aggregate rows = read_all(
      "GPUPROF;3.5\nSTRING;1;kernel\nPROCESS;1;7;0;0;0;0;0;0\nWORK;1;1;7;0;0;0;0;0;0;0;kernel;1;0\n"
      "WINDOW;1000;1025\nWINDOW;1100;1125;2\nGPU;0;1;1;100;100;100;10000;0;0\n"
      "COVERAGE;1;represented;14\nCOVERAGE;1;weighted;10\n");
  const analyze::Summary summary = analyze::summarize(rows);
  REQUIRE(summary.work.size() == 1);
  CHECK(summary.work[0].weight.ns == 140);
  CHECK(summary.work[0].weight.count == 1);
  CHECK(summary.work[0].average_ns == 100);
  CHECK(report(rows, {}).find("100.00%   140 ns        ?        1   100 ns   100 ns") != std::string::npos);
  const std::string json = collect_text([&](TextStream& out) { output::report_json(summary, out); });
  CHECK(json.find("\"avg_ns\":100,\"min_ns\":100,\"max_ns\":100") != std::string::npos);
}

TEST_CASE("the report of an estimate says that samples are not scaled, and which of their shares have intervals") {
  const std::string text =
      "GPUPROF;3.5\nSTRING;1;kernel\nSTRING;2;stall\nPROCESS;1;7;0;0;0;0;0;0\nWORK;1;1;7;0;0;0;0;0;0;0;kernel;1;0\n"
      "GPU;0;1;1;100;100;100;10000;0;0\nEUSTALL;0;1;0;2;0;5;0\n";
  const std::string estimate = "WINDOW;1000;1025;2\nCOVERAGE;1;represented;14\nCOVERAGE;1;weighted;10\n";
  const std::string sentence = "Samples are only those in windows";  // the page breaks the line behind it
  CHECK(report(read_all(text), {}).find(sentence) == std::string::npos);
  CHECK(report(read_all(text + estimate), {}).find(sentence) != std::string::npos);
}

TEST_CASE("launches without times of a merged profile are named, and have no times in the tables") {
  const std::string text =
      "GPUPROF;3.0\nSTRING;1;timed\nSTRING;2;counted\nSTRING;3;both\nPROCESS;1;7;0;0;0;0;0;0\n"
      "WORK;1;1;7;0;0;0;0;0;0;0;kernel;1;0\nWORK;2;1;7;0;0;0;0;0;0;0;launch;2;0\n"
      "WORK;3;1;7;0;0;0;0;0;0;0;kernel;3;0\nWORK;4;1;7;0;0;0;0;0;0;0;launch;3;0\n"
      "GPU;0;1;1;30;30;30;900;0;0\nGPU;0;3;2;20;10;10;200;0;0\nLAUNCH;0;2;7\nLAUNCH;0;4;3\nEND;9;0;3;50;0;0;0\n";
  const analyze::Aggregate rows = read_all(text);
  const std::string shown = report(rows, {});
  CHECK(shown.find("GPU time 50 ns in 3 operations, 0.00% of them with a CPU stack\n"
                   "10 more launches without GPU times, only counted\n") != std::string::npos);
  CHECK(shown.find("       -        -        7        -        -        -  [counted launches]\n") != std::string::npos);
  const auto groups = analyze::summarize(rows, {.by = analyze::Dimension::pid}).groups;
  REQUIRE(groups.size() == 1);
  CHECK(groups[0].weight.count == 13);
  CHECK(groups[0].average_ns == 50 / 3);  // LAUNCH lines have no times
  const std::string json = collect_text([&](TextStream& out) { output::report_json(analyze::summarize(rows), out); });
  CHECK(json.find("\"missing\":[\"10 launches have no GPU times, only a count\"") != std::string::npos);
}

TEST_CASE("a merged profile says how many of its recordings are only a part of the program's run") {
  const std::string kernel =
      "STRING;1;kernel\nPROCESS;1;7;0;0;0;0;0;0\nWORK;1;1;7;0;0;0;0;0;0;0;kernel;1;0\nGPU;0;1;1;30;30;30;900;0;0\n";
  std::string text = "GPUPROF;3.0\nMETA;recording;0123456789abcdef0123456789abcdef\n";
  text += "META;recording.window;--duration 500 ms\n";
  CHECK(report(read_all(text + kernel), {}).find("recorded only a part of the program's run: --duration 500 ms\n") !=
        std::string::npos);
  text += "META;recording;1123456789abcdef0123456789abcdef\nMETA;recording;2123456789abcdef0123456789abcdef\n";
  CHECK(report(read_all(text + kernel), {.width = 200})
            .find("recorded in at least 1 of 3 recordings only a part of the program's run: --duration 500 ms\n") !=
        std::string::npos);
  text += "META;attach.pid;42\nMETA;attach.pid;43\nMETA;recording.window;-p 43 --delay 1 s\n";
  CHECK(report(read_all(text + kernel), {.width = 200})
            .find("recorded only a part of the program's run: --duration 500 ms; -p 43 --delay 1 s; -p 42\n") !=
        std::string::npos);
}

TEST_CASE("the part of a run that was recorded is never shortened") {
  const std::string text = std::string(kTwoKernels) + "META;recording;1\nMETA;recording;2\n" +
                           "META;recording.window;--delay 400 ms --duration 730 ms --start-paused\n";
  const std::string page = report(read_all(text), {.width = 80});
  CHECK(page.find("recorded in at least 1 of 2 recordings only a part of the program's run: --delay\n"
                  "         400 ms --duration 730 ms --start-paused\n") != std::string::npos);
}

TEST_CASE("a merged profile of rotated files says which time of the recording is missing") {
  const std::string head = "GPUPROF;3.5\nSTRING;1;kernel\nPROCESS;1;7;0;0;0;0;0;0\n";
  const std::string tail = "WORK;1;1;7;0;0;0;0;0;0;0;kernel;1;0\nGPU;0;1;1;30;30;30;900;0;0\n";
  const std::string id = "0123456789abcdef0123456789abcdef";
  const auto file = [&id](int number, const std::string& time) {
    return "META;recording;" + std::string(32, static_cast<char>('0' + number)) + "\nMETA;recording.rotation;" + id +
           " " + time + "\n";
  };
  const auto recorded = [&](const std::string& meta) {
    const std::string text = report(read_all(head + meta + tail), {.width = 200});
    const size_t at = text.find("recorded ");
    return at == std::string::npos ? "" : text.substr(at, text.find('\n', at) - at);
  };
  const std::string first = file(1, "0 2000000000");
  const std::string second = file(2, "2000000000 4000000000");
  const std::string third = file(3, "4000000000 6000000000");
  const std::string last = file(4, "6000000000 end");
  CHECK(recorded(third + first + last + second).empty());
  CHECK(recorded(first + file(4, "2000000000 -")).empty());  // gpuprof was killed
  CHECK(recorded(first + last) ==
        "recorded only a part of the program's run: --rotate, from 0s to 2s, from 6s on (missing: from 2s to 6s)");
  CHECK(recorded(third + second) ==
        "recorded only a part of the program's run: --rotate, from 2s to 6s (missing: from 0s to 2s, from 6s on)");
  CHECK(recorded(second + third + last + "META;recording;" + id + "\n") ==
        "recorded in at least 1 of 2 recordings only a part of the program's run: --rotate, from 2s on (missing: from "
        "0s to "
        "2s)");
  for (const char* const forged : {"", "x", " ", "x 5", "x 5 4", "x -1 2"}) {
    recorded(file(1, forged) + "META;recording.rotation;" + forged + "\n");
  }
}

TEST_CASE("tables drop lines until the report fits the requested height, and say so") {
  std::string text = "GPUPROF;3.0\nPROCESS;1;1;0;0;0;0;0;0\n";
  for (int i = 1; i <= 40; ++i) {
    const std::string n = std::to_string(i);
    text.append("STRING;" + n + ";kernel_" + n + "\n")
        .append("WORK;" + n + ";1;0;0;0;0;0;0;0;0;kernel;" + n + ";0\nGPU;0;" + n + ";1;10;10;10;100;0;0\n");
  }
  const analyze::Aggregate rows = read_all(text);
  const auto lines = [](const std::string& report) { return std::count(report.begin(), report.end(), '\n'); };
  CHECK(lines(report(rows, {})) > 60);
  CHECK(lines(report(rows, {.lines = 60})) == 60);
  const std::string least = report(rows, {.lines = 1});
  CHECK(least.find("Top kernels and copies (3 of 40)") != std::string::npos);
  CHECK(least.find("Top call paths (1 of 40)") != std::string::npos);
}

TEST_CASE("kernels, the program's functions and call paths stay longest in a short report") {
  analyze::Summary summary;
  summary.timed = true;
  summary.total.ns = 100;
  const analyze::Weight weight{.ns = 10, .count = 1};
  summary.work.resize(12, {.weight = weight});
  summary.call_paths.resize(6, {.weight = weight});
  summary.waits.resize(2);
  summary.allocations.resize(2);
  summary.host_work.resize(4);
  summary.ranks.resize(4);
  for (int i = 0; i < 6; ++i) {
    summary.functions.push_back({.name = "library", .origin = analyze::Origin::library, .total = weight});
    summary.functions.push_back({.name = "own", .origin = analyze::Origin::own, .total = weight});
  }
  output::Detail detail;
  while (summary.work.size() > 10 && output::remove_line(summary, detail)) {
  }
  CHECK(summary.call_paths.size() == 5);
  CHECK(summary.functions.size() == 8);
  const auto own = std::count_if(summary.functions.begin(), summary.functions.end(),
                                 [](const analyze::FunctionLine& line) { return line.name == "own"; });
  CHECK(own == 6);
  CHECK(summary.waits.empty());
  CHECK(summary.allocations.empty());
  CHECK(summary.host_work.size() == 3);
  CHECK(detail.one_line);
  while (output::remove_line(summary, detail)) {
  }
  CHECK(summary.host_work.empty());
  CHECK(summary.ranks.empty());
  CHECK(summary.work.size() == 3);
  CHECK(summary.functions.size() == 3);
  CHECK(summary.call_paths.size() == 1);
}

TEST_CASE("lines with less than one percent are dropped first") {
  analyze::Summary summary;
  summary.timed = true;
  summary.total.ns = 1000;
  summary.call_paths.resize(4, {.weight = {.ns = 9}});
  summary.waits.resize(2);
  output::Detail detail;
  CHECK(output::remove_line(summary, detail));
  CHECK(summary.call_paths.size() == 3);
  CHECK(summary.waits.size() == 2);
  CHECK(output::remove_line(summary, detail));
  CHECK(summary.waits.size() == 1);
}

TEST_CASE("the sort key decides the order") {
  const analyze::Aggregate rows = read_all(kTwoKernels);
  const auto first = [&rows](analyze::SortBy sort) {
    const analyze::Summary summary = analyze::summarize(rows, {.limits = {.work = 1}, .sort = sort});
    REQUIRE(summary.work.size() == 1);
    CHECK(summary.found.work == 2);
    return std::string(summary.work[0].work);
  };
  CHECK(first(analyze::SortBy::time) == "slow");
  CHECK(first(analyze::SortBy::calls) == "fast");
  CHECK(first(analyze::SortBy::average) == "slow");
  CHECK(first(analyze::SortBy::max) == "slow");
}

TEST_CASE("a report never exceeds its width or contains terminal control bytes") {
  for (unsigned seed = 0; seed < 30; ++seed) {
    const analyze::Aggregate rows = read_all(test::RandomProfile(seed).text);
    for (const size_t width : {size_t{80}, size_t{132}}) {
      std::istringstream lines(report(rows, {.width = width}));
      for (std::string line; std::getline(lines, line);) {
        CHECK(utf8_length(line) <= width);
        CHECK(std::none_of(line.begin(), line.end(), [](char c) { return static_cast<unsigned char>(c) < 0x20; }));
      }
    }
  }
}

TEST_CASE("a report says what to try against the causes of idle time that it shows, once for each") {
  const std::string works =
      "GPUPROF;3.0\nSTRING;1;sleeps\nSTRING;2;throttled\nSTRING;3;clBuildProgram\nSTRING;4;clFinish\nSTRING;5;a\n"
      "STRING;6;b\nFRAME;1;native;5;0;0;0;0;0x0\nFRAME;2;native;6;0;0;0;0;0x0\nUSTACK;1;1\nUSTACK;2;2\n"
      "DEVICE;1;1;0;1;0\nPROCESS;1;1;0;0;0;0;0;0\nWORK;1;1;0;0;1;0;0;0;0;0;cpu;0;0\nWORK;2;1;0;0;2;0;0;0;0;0;cpu;0;0\n"
      "WORK;3;1;0;0;0;0;0;0;0;0;off_cpu;1;0\nWORK;4;1;0;0;0;0;0;0;0;0;off_cpu;2;0\n"
      "WORK;5;1;0;0;0;0;0;0;0;0;call;3;0\nWORK;6;1;0;0;0;0;0;0;0;0;sync;4;0\n";
  const std::string text = report(
      read_all(works +
               "IDLE;0;1;1;3000\nIDLE;0;1;2;3000\nIDLE;0;1;3;2000\nIDLE;0;1;4;40\nIDLE;0;1;5;1000\nIDLE;0;1;6;960\n"),
      {.width = 200});
  const size_t begin = text.find("while idle: ");
  REQUIRE(begin != std::string::npos);
  const size_t advice = text.find('\n', begin) + 1;
  const std::string expected =
      "  on CPU: make these functions faster, or run them ahead of time in other threads\n"
      "  sleeps: wait for the event itself instead of sleeping, or sleep for a shorter time\n"
      "  in clBuildProgram: build once, and keep the binary (clCreateProgramWithBinary)\n"
      "  in calls: make fewer such calls, or launch the next work before them\n";
  CHECK(text.substr(advice, expected.size()) == expected);
  CHECK(text.find("cgroup") == std::string::npos);  // 0.4% of the idle time
}

TEST_CASE("a report names the thread that ended a wait, and its function") {
  const std::string text =
      "GPUPROF;3.0\nSTRING;1;app\nSTRING;2;take\nSTRING;3;release\nSTRING;4;waits: futex, woken by worker 3\n"
      "FRAME;1;native;2;0;0;0;0;0x0\nFRAME;2;native;3;0;0;0;0;0x0\nUSTACK;1;1\nUSTACK;2;2\nDEVICE;1;1;0;1;0\n"
      "PROCESS;1;1;0;0;1;0;0;0\nWORK;1;1;0;0;1;0;2;0;0;0;off_cpu;4;0\nWORK;2;1;0;0;1;0;0;0;0;0;off_cpu;4;0\n"
      "IDLE;0;1;1;300\nIDLE;0;1;2;100\n";
  CHECK(report(read_all(text), {.width = 200})
            .find("while idle: 75.00% waits: futex, woken by worker 3 in release, 25.00% waits: futex, woken by worker "
                  "3\n") != std::string::npos);
}
