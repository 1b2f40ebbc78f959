#include "analyze/paths/fold.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>

#include "analyze/rows/summarize.h"
#include "catch.h"
#include "output/folded.h"
#include "profile/random_profile.h"
#include "profile/text_input.h"

using namespace gpuprof;
using namespace gpuprof::analyze;
using output::TimeUnit;
using output::WeightKind;
using test::open_text;

namespace {

FoldResult fold_text(const std::string& text, const FoldOptions& options = {}, bool lenient = false) {
  auto reader = open_text(text, lenient);
  REQUIRE(reader);
  auto result = fold(*reader, options);
  INFO((result ? std::string() : result.error().message));
  REQUIRE(result);
  return std::move(result).value();
}

std::string fold_error(const std::string& text) {
  auto reader = open_text(text);
  REQUIRE(reader);
  const auto result = fold(*reader);
  return result ? "" : result.error().message;
}

std::string ns(const FoldResult& result) {
  return output::folded(result.tree, {WeightKind::time, TimeUnit::ns});
}
std::string counts(const FoldResult& result) {
  return output::folded(result.tree, {WeightKind::count});
}

uint64_t sum_of_lines(const std::string& folded) {
  uint64_t sum = 0;
  for (size_t at = 0; at < folded.size();) {
    const size_t end = folded.find('\n', at);
    const size_t space = folded.rfind(' ', end);
    sum += std::stoull(folded.substr(space + 1, end - space - 1));
    at = end + 1;
  }
  return sum;
}

const char* const kFoldBase =
    "GPUPROF;3.0\nSTRING;1;app\nSTRING;2;main\nSTRING;3;step\nSTRING;4;a.cpp\nSTRING;5;saxpy\nSTRING;6;do_ioctl\n"
    "FRAME;1;native;2;4;10;0;0;0x10\nFRAME;2;inlined;3;4;20;0;0;0x10\nFRAME;3;kernel;6;0;0;0;0;0\n"
    "FRAME;4;truncated;0;0;0;0;0;0\nFRAME;5;unknown;0;0;0;0;0;0x99\nFRAME;6;python;3;4;0;0;0;0\n"
    "USTACK;1;1;2\nUSTACK;2;4;5;6\nKSTACK;1;3\nPROCESS;1;100;1;5;1;0;0;0\n";

}  // namespace

TEST_CASE("GPU work is folded under its process and stack") {
  const auto result = fold_text(std::string(kFoldBase) +
                                "WORK;1;1;0;0;1;0;0;0;0;0;kernel;5;0\nGPU;0;1;2;30;10;20;0;0;0\n"
                                "WORK;2;1;0;0;1;0;0;0;0;3;kernel;5;0\nGPU;1;2;1;12;12;12;0;0;0\n"
                                "WORK;3;1;0;0;1;1;0;0;0;0;copy_htod;0;0\nGPU;0;3;1;7;7;7;0;0;4096\n"
                                "WORK;4;1;0;0;0;0;0;0;0;0;fill;0;0\nGPU;0;4;1;5;5;5;0;0;8\n"
                                "WORK;5;0;0;0;2;0;0;0;0;0;kernel;0;0\nGPU;0;5;1;3;3;3;0;0;0\n");
  CHECK(ns(result) ==
        "[unknown];[truncated];[unknown];step (a.cpp);[unknown]_[G] 3\n"
        "app;[no CPU stack];[fill]_[G] 5\n"
        "app;main;step;-;do_ioctl_[k];[copy HtoD]_[G] 7\n"
        "app;main;step;saxpy_[G] 42\n");
  CHECK(result.kind == ProfileKind::durations);
  CHECK(result.gpu_records == 6);
  CHECK(result.with_stack == 5);
  CHECK(result.records == 5);
  CHECK(result.tree.total().ns == 57);
  CHECK(result.tree.total().bytes == 4104);
  CHECK_FALSE(result.complete);
}

TEST_CASE("every operation has its own label") {
  const std::pair<const char*, const char*> names[] = {{"copy_htod", "[copy HtoD]"}, {"copy_dtoh", "[copy DtoH]"},
                                                       {"copy_dtod", "[copy DtoD]"}, {"copy_htoh", "[copy HtoH]"},
                                                       {"copy_ptop", "[copy PtoP]"}, {"copy", "[copy]"},
                                                       {"fill", "[fill]"},           {"other", "[other GPU work]"}};
  for (const auto& [op, name] : names) {
    const auto result =
        fold_text(std::string("GPUPROF;3.0\nWORK;1;0;0;0;0;0;0;0;0;0;") + op + ";0;0\nGPU;0;1;1;5;5;5;0;0;0\n");
    CHECK(ns(result) == std::string("[unknown];[no CPU stack];") + name + "_[G] 5\n");
  }
}

TEST_CASE("source lines are appended on request") {
  const auto result = fold_text(std::string(kFoldBase) + "WORK;1;1;0;0;1;0;0;0;0;0;kernel;5;0\nGPU;0;1;1;5;5;5;0;0;0\n",
                                FoldOptions{.stacks = {.lines = true}});
  CHECK(ns(result) == "app;main (a.cpp:10);step (a.cpp:20);saxpy_[G] 5\n");
}

TEST_CASE("launches are counted, not timed") {
  const auto result =
      fold_text(std::string(kFoldBase) + "WORK;1;1;0;0;1;0;0;0;0;0;launch;5;0\nLAUNCH;0;1;4\nLAUNCH;1;1;3\n");
  CHECK(result.kind == ProfileKind::launch_counts);
  CHECK(result.launches == 7);
  CHECK(ns(result).empty());
  CHECK(counts(result) == "app;main;step;[saxpy launches] 7\n");
}

TEST_CASE("stall samples in the published form are folded with their stacks and code locations") {
  const auto result = fold_text(
      "STRING;1;python3.11\nPROC_NAME;1;12345\nUSTACK;100;main;zeCommandListAppendLaunchKernel\n"
      "KSTACK;200;0xffffffffc0123456;already_[k]\nGPU_FILE;10;my_kernel.cpp\nGPU_SYMBOL;11;my_kernel\n"
      "INSN_TEXT;20;mad(8) r10 "
      ";\nEUSTALL;1;12345;100;200;10;11;20;1;0x40;1234\nEUSTALL;1;12345;100;200;10;11;20;1;64;1\n"
      "EUSTALL;0;1;0;0;0;0;0;0;0x0;2\nEUSTALL;1;1;0;0;0;0;0;10;0x8;3\nEUSTALL;1;1;0;0;0;0;0;11;0x8;4\n");
  CHECK(result.kind == ProfileKind::stall_samples);
  CHECK(result.complete);
  CHECK(result.samples == 1244);
  CHECK(counts(result) ==
        "[unknown];[no CPU stack];[unknown]_[G];[unknown]_[g];[unknown]_[g];0x0_[g] 2\n"
        "python3.11;[no CPU stack];[unknown]_[G];[unknown]_[g];tdr_[g];0x8_[g] 3\n"
        "python3.11;[no CPU stack];[unknown]_[G];[unknown]_[g];type 11_[g];0x8_[g] 4\n"
        "python3.11;main;zeCommandListAppendLaunchKernel;-;0xffffffffc0123456_[k];already_[k];"
        "my_kernel_[G];my_kernel.cpp_[G];mad(8) r10 :_[g];active_[g];0x40_[g] 1235\n");
}

namespace {

const char* const kSampled =
    "RANGE;1;0;0;3\nWORK;1;1;0;0;1;1;0;1;0;0;kernel;5;0\nSTRING;7;a.cubin\nSTRING;8;00ff\nSTRING;9;cycles\n"
    "STRING;10;FADD\nSTRING;11;wait\nSTRING;12;a.cu\nSTRING;13;clamp\nGPU_MODULE;1;7;8\nSAMPLING;1;4096;9\n"
    "FRAME;7;gpu;5;12;7;7;8;0\nFRAME;8;gpu;13;12;3;7;8;0\nGPU_PLACE;1;1;5;0x10;10;7;8\nGPU_PLACE;2;1;13;0x20;0\n"
    "EUSTALL;0;1;1;11;1;3;0\nEUSTALL;1;1;1;11;1;2;1\nEUSTALL;0;1;2;11;0;4;0\nEUSTALL;0;1;0;0;0;1;0\n";

}  // namespace

TEST_CASE("samples are folded below the stack of their work, with source lines or the module") {
  const auto result = fold_text(std::string(kFoldBase) + kSampled, {.measure = Measure::samples});
  const std::string above = "app;step;main;step;-;do_ioctl_[k];saxpy_[G];";
  CHECK(counts(result) == above + "[unknown]_[g];[unknown]_[g];0x0_[g] 1\n" + above +
                              "a.cubin_[G];clamp_[G];[unknown]_[g];wait_[g];0x20_[g] 4\n" + above +
                              "saxpy (a.cu:7)_[G];clamp (a.cu:3)_[G];FADD_[g];wait_[g];0x10_[g] 5\n");
  CHECK(result.samples == 10);
  CHECK(result.estimated == 2);
  // If a profile holds only samples, samples are the default measure. The filter for the range "other" removes all of
  // them, because the work item of these samples is in no range.
  CHECK(counts(fold_text(std::string(kFoldBase) + kSampled)) == counts(result));
  CHECK(
      counts(fold_text(std::string(kFoldBase) + kSampled, {.ranges = RangeFrames::filter, .range = "other"})).empty());
}

TEST_CASE("each sample is below its kernel, code location and stall reason, also if those repeat") {
  std::string text = kFoldBase;
  for (const char* define : {"STRING;7;wait", "STRING;8;send", "WORK;7;1;0;0;0;0;0;0;0;0;kernel;5;0",
                             "WORK;8;1;0;0;0;0;0;0;0;0;kernel;6;0"}) {
    text.append(define).append("\n");
  }
  // Both kernels have locations in `saxpy`. Offsets are multiples of 2^14. Three locations share each offset.
  std::map<std::string, uint64_t> wanted;
  for (uint64_t i = 1; i <= 300; ++i) {
    const std::string offset = std::to_string((i % 100) << 14U);
    text += "GPU_PLACE;" + std::to_string(i) + ";0;5;" + offset + ";0\n";
  }
  for (uint64_t i = 0; i < 6000; ++i) {
    const uint64_t place = 1 + i * 7 % 300;
    const bool other_kernel = i % 5 < 2;
    const bool other_reason = i % 3 == 0;
    text += "EUSTALL;0;" + std::string(other_kernel ? "8" : "7") + ";" + std::to_string(place) + ";" +
            (other_reason ? "8" : "7") + ";0;" + std::to_string(1 + i % 4) + ";0\n";
    char offset[20];
    std::snprintf(offset, sizeof offset, "0x%llx", static_cast<unsigned long long>((place % 100) << 14U));
    const std::string function = other_kernel ? "do_ioctl_[G];saxpy_[G]" : "saxpy_[G]";
    wanted["app;[no CPU stack];" + function + ";[unknown]_[g];" + (other_reason ? "send" : "wait") + "_[g];" + offset +
           "_[g]"] += 1 + i % 4;
  }
  std::string lines;
  for (const auto& [path, count] : wanted) {
    lines += path + " " + std::to_string(count) + "\n";
  }
  CHECK(counts(fold_text(text)) == lines);
}

TEST_CASE("samples are neither GPU time nor counted as work") {
  const auto text = std::string(kFoldBase) + kSampled + "GPU;0;1;1;9;9;9;0;0;0\n";
  const auto timed = fold_text(text);
  CHECK(timed.kind == ProfileKind::durations);
  CHECK(counts(timed) == "app;step;main;step;-;do_ioctl_[k];saxpy_[G] 1\n");
  CHECK(timed.tree.total().ns == 9);
  CHECK(fold_text(text, {.measure = Measure::samples}).tree.total().count == 10);
}

TEST_CASE("totals in END that differ from the records cause a warning") {
  const std::string gpu =
      "WORK;1;0;0;0;0;0;0;0;0;0;kernel;0;0\nGPU;0;1;2;30;10;20;0;0;0\nLOSS;0;ring_full;3\nLOSS;0;ring_full;1\n";
  const auto good = fold_text("GPUPROF;3.0\n" + gpu + "END;1;9;2;30;0;0;4\n");
  CHECK(good.complete);
  CHECK(good.warnings.empty());
  CHECK(good.launches == 9);
  CHECK(good.losses == std::map<std::string, uint64_t>{{"ring_full", 4}});
  const auto bad = fold_text("GPUPROF;3.0\n" + gpu + "END;1;9;2;31;0;0;4\n");
  REQUIRE(bad.warnings.size() == 1);
  CHECK(bad.warnings[0] == "the END record counts 31 ns of GPU time, the records before it sum up to 30");
  CHECK(fold_error("GPUPROF;3.0\nEND;1;0;0;0;0;0;0\nMETA;a;b\n") == "p.txt:3: there are records after END");
}

TEST_CASE("a sum that exceeds 64 bits is an error and does not wrap around") {
  const std::string works = "GPUPROF;3.0\nWORK;1;0;0;0;0;0;0;0;0;0;kernel;0;0\nWORK;2;0;0;0;0;0;0;0;0;0;copy;0;0\n";
  const std::string most = "GPU;0;1;1;18446744073709551615;18446744073709551615;18446744073709551615;0;0;0\n";
  CHECK(fold_error(works + most).empty());
  CHECK(fold_error(works + most + "GPU;0;2;1;1;1;1;0;0;0\n") ==
        "p.txt:5: the sum of the values in all records up to this one exceeds 64 bits");
  CHECK(fold_error("EUSTALL;0;1;0;0;0;0;0;1;0;18446744073709551615\nEUSTALL;0;2;0;0;0;0;0;1;0;1\n") ==
        "p.txt:2: the sum of the values in all records up to this one exceeds 64 bits");
  CHECK(fold_error("GPUPROF;3.0\nLOSS;0;a;18446744073709551615\nLOSS;0;b;1\n") ==
        "p.txt:3: the sum of all LOSS counts exceeds 64 bits");
}

TEST_CASE("an undefined id is an error with its line, in any field") {
  const std::string good = "GPUPROF;3.0\nWORK;1;0;0;0;0;0;0;0;0;0;kernel;0;0\nGPU;0;1;1;5;5;5;0;0;0\n";
  for (const char* record : {"GPU;0;9;1;5;5;5;0;0;0", "LAUNCH;0;9;1", "EUSTALL;0;9;0;0;0;1;0"}) {
    CHECK(fold_error(good + record + "\n") == "p.txt:4: WORK 9 is not defined");
  }
  CHECK(fold_error(good + "EUSTALL;0;1;0;0;0;1;0\nEUSTALL;0;1;9;0;0;1;0\n") == "p.txt:5: GPU_PLACE 9 is not defined");
}

TEST_CASE("lenient folding skips bad lines and keeps the good ones") {
  const auto result = fold_text(
      "GPUPROF;3.0\nWORK;1;0;0;0;7;0;0;0;0;0;kernel;0;0\nrubbish\nWORK;2;0;0;0;0;0;0;0;0;0;copy;0;0\n"
      "GPU;0;2;1;6;6;6;0;0;0\n",
      {}, true);
  CHECK(result.skipped_bad == 2);
  CHECK(ns(result) == "[unknown];[no CPU stack];[copy]_[G] 6\n");
}

TEST_CASE("folding conserves the sum, in us up to the rounding of each line") {
  for (unsigned seed = 0; seed < 300; ++seed) {
    INFO("seed " << seed);
    const test::RandomProfile random(seed);
    const auto result = fold_text(random.text);
    const bool samples = result.kind == ProfileKind::stall_samples;
    CHECK(result.tree.total().ns == random.gpu_ns);
    CHECK(sum_of_lines(ns(result)) == random.gpu_ns);
    CHECK(sum_of_lines(counts(result)) == (samples ? random.samples : random.gpu_count + random.launches));
    const std::string lines = ns(result);
    const auto most = 500 * std::count(lines.begin(), lines.end(), '\n');
    const auto us = sum_of_lines(output::folded(result.tree, {WeightKind::time, TimeUnit::us}));
    CHECK(std::abs(static_cast<int64_t>(us * 1000) - static_cast<int64_t>(random.gpu_ns)) <= most);
  }
}

TEST_CASE("every prefix of a random profile folds") {
  const test::RandomProfile random(7);
  for (size_t length = 1; length < random.text.size(); length += 3) {
    auto reader = open_text(std::string_view(random.text).substr(0, length));
    REQUIRE(reader);
    const auto result = fold(*reader);
    INFO((result ? std::string() : result.error().message));
    REQUIRE(result);
    CHECK_FALSE(result.value().complete);
  }
}

TEST_CASE("a summary groups by work and by call path, heaviest first") {
  auto reader = open_text(std::string(kFoldBase) +
                          "WORK;1;1;0;0;1;0;0;0;0;0;kernel;5;0\nGPU;0;1;2;30;10;20;0;0;0\n"
                          "WORK;1;1;0;0;1;0;0;0;0;0;kernel;5;0\nGPU;0;1;1;2;2;2;0;0;0\n"
                          "WORK;6;1;0;0;2;0;0;0;0;0;kernel;5;0\nGPU;0;6;1;25;25;25;0;0;0\n"
                          "WORK;7;1;0;0;0;0;0;0;0;0;copy_htod;0;0\nGPU;0;7;4;100;25;25;0;0;64\n");
  REQUIRE(reader);
  const auto rows = aggregate(*reader);
  REQUIRE(rows);
  const Summary all = summarize(rows.value());
  CHECK(all.timed);
  REQUIRE(all.work.size() == 2);
  CHECK(all.work[0].work == "[copy HtoD]");
  CHECK(all.work[1].work == "saxpy");
  CHECK(all.work[1].weight.ns == 57);
  CHECK(all.work[1].weight.count == 4);
  CHECK(all.work[1].min_ns == 2);
  CHECK(all.work[1].max_ns == 25);
  REQUIRE(all.call_paths.size() == 3);
  CHECK(all.call_paths[0].path.frames() == std::vector<std::string_view>{"[no CPU stack]"});
  CHECK(all.call_paths[1].path.frames() == std::vector<std::string_view>{"main", "step"});
  CHECK(all.call_paths[1].process == "app");
  CHECK(all.call_paths[1].weight.ns == 32);
  CHECK(summarize(rows.value(), {.limits = {.paths = 1}}).call_paths.size() == 1);
}

// Records are queued before they are added to their rows. The queue must not change errors or their order.
TEST_CASE("an error names its own line, however many records follow") {
  const std::string base = std::string(kFoldBase) + "WORK;1;1;0;0;1;0;0;0;0;0;kernel;5;0\n";
  const std::string good = "EUSTALL;0;1;0;0;0;1;0\n";
  const std::string bad = "EUSTALL;0;1;0;99;0;1;0\n";  // STRING 99 is not defined yet
  const auto repeated = [](const std::string& line, size_t count) {
    std::string text;
    for (size_t i = 0; i < count; ++i) {
      text += line;
    }
    return text;
  };
  const auto first_line = static_cast<size_t>(std::count(base.begin(), base.end(), '\n')) + 1;
  for (const size_t before : {0U, 1U, 7U, 8U, 15U, 16U, 17U, 40U}) {
    for (const size_t after : {0U, 1U, 8U, 15U, 16U, 50U}) {
      INFO(before << " before, " << after << " after");
      const std::string expected = "p.txt:" + std::to_string(first_line + before) + ": STRING 99 is not defined";
      const std::string text = base + repeated(good, before) + bad + repeated(good, after);
      CHECK(fold_error(text) == expected);
      CHECK(fold_error(text + "GPU;broken\n") == expected);
      CHECK(fold_error(text + "STRING;99;late\n") == expected);  // STRING 99 is defined too late
      CHECK(fold_error(text + "GPU;0;99;1;1;1;1;1;0;0\n") == expected);
      const auto lenient = fold_text(text + "STRING;99;late\n" + bad, {}, true);
      CHECK(lenient.skipped_bad == 1);
      CHECK(lenient.records == before + after + 1);
      CHECK(lenient.tree.total().count == before + after + 1);
    }
  }
}

TEST_CASE("rows are found again for any number of work items and any mix of record kinds") {
  std::string text = kFoldBase;
  uint64_t ns_sum = 0;
  uint64_t samples = 0;
  for (uint64_t round = 0; round < 3; ++round) {
    for (uint64_t i = 1; i <= 5000; ++i) {
      const std::string work = std::to_string(i);
      text += "WORK;" + work + ";1;0;0;" + std::to_string(i % 3) + ";" + std::to_string(i % 2) + ";0;0;0;0;kernel;" +
              std::to_string(1 + i % 6) + ";0\nGPU;0;" + work + ";1;" + work + ";" + work + ";" + work + ";0;0;0\n";
      text += "EUSTALL;0;" + work + ";0;" + std::to_string(1 + i % 4) + ";0;2;0\n";
      ns_sum += i;
      samples += 2;
    }
  }
  const auto result = fold_text(text);
  CHECK(result.kind == ProfileKind::durations);
  CHECK(result.tree.total().ns == ns_sum);
  CHECK(result.tree.total().count == 15000);
  CHECK(result.samples == samples);
  CHECK(result.gpu_records == 15000);
  CHECK(sum_of_lines(ns(result)) == ns_sum);
  const std::string lines = counts(fold_text(text, {.measure = Measure::samples}));
  CHECK(sum_of_lines(lines) == samples);
  CHECK(lines.find("app;[no CPU stack];do_ioctl_[G];[unknown]_[g];step_[g];0x0_[g] ") == std::string::npos);
}

TEST_CASE("a time off a CPU shows which thread ended it, with the stack of that thread") {
  const std::string text =
      "GPUPROF;3.0\nSTRING;1;app\nSTRING;2;take\nSTRING;3;release\nSTRING;4;waits: futex, woken by worker 3\n"
      "FRAME;1;native;2;0;0;0;0;0x0\nFRAME;2;native;3;0;0;0;0;0x0\nUSTACK;1;1\nUSTACK;2;2\nDEVICE;1;1;0;1;0\n"
      "PROCESS;1;1;0;0;1;0;0;0\nWORK;1;1;0;0;1;0;2;0;0;0;off_cpu;4;0\nHOST;0;1;1;7;7;7;0\nIDLE;0;1;1;5\n";
  const std::string path = "app;take;[woken by worker 3];release;[waits: futex] ";
  CHECK(test::lines_of(text, {.measure = analyze::Measure::off_cpu}) == path + "7\n");
  CHECK(test::lines_of(text, {.measure = analyze::Measure::idle}) == path + "5\n");
  CHECK(test::lines_of(text, {.graph = analyze::GraphStacks::capture, .measure = analyze::Measure::idle}) ==
        path + "5\n");
}
