#include "analyze/stalls/stalls.h"

#include <cmath>
#include <random>
#include <set>
#include <string>

#include "analyze/rows/summarize.h"
#include "analyze/stalls/stall_reasons.h"
#include "catch.h"
#include "profile/text_input.h"

using namespace gpuprof;
using namespace gpuprof::analyze;
using profile::StringId;
using test::open_text;

namespace {

constexpr StringId kKernel{1};
constexpr StringId kReason{2};
constexpr StringId kOther{3};

const std::string kStallsBase =
    "GPUPROF;3.0\nSTRING;1;saxpy\nSTRING;2;wait\nSTRING;3;selected\nSTRING;4;a.cu\nSTRING;5;clamp\nSTRING;6;copy\n"
    "FRAME;1;gpu;1;4;12;0;0;0\nFRAME;2;gpu;5;4;3;0;0;0\nGPU_PLACE;1;0;1;0x10;0;1;2\nGPU_PLACE;2;0;1;0x20;0\n"
    "GPU_PLACE;3;0;1;0x30;0;1\nWORK;1;0;0;0;0;0;0;0;0;0;kernel;1;0\nWORK;2;0;0;0;0;0;0;0;0;0;kernel;6;0\n"
    "WORK;3;0;1;0;0;0;0;0;0;0;kernel;1;0\nGPU;0;1;1;50;50;50;2500;0;0\nGPU;0;2;1;70;70;70;4900;0;0\n";

Summary summary_of(const std::string& text, const SummaryOptions& options = {}) {
  auto reader = open_text(text);
  REQUIRE(reader);
  auto rows = aggregate(*reader, {.stall_slices = true});
  REQUIRE(rows);
  // Callers may use only the numbers of the summary: its strings are freed with `rows`.
  return summarize(*rows, options);
}

}  // namespace

TEST_CASE("the interval of a share is Wilson's, and wider for overdispersed shares") {
  const Interval even = share_interval(50, 100, 1);
  CHECK(std::abs(even.low - 0.4038) < 0.0001);
  CHECK(std::abs(even.high - 0.5962) < 0.0001);
  const Interval wide = share_interval(50, 100, 4);
  CHECK(std::abs(wide.low - share_interval(25, 50, 2).low) < 1e-9);
  CHECK(wide.high - wide.low > 1.8 * (even.high - even.low));
  CHECK(share_interval(0, 100, 1).low == 0);
  CHECK(share_interval(0, 100, 1).high < 0.04);
  CHECK(share_interval(100, 100, 1).high == 1);
  CHECK(share_interval(UINT64_MAX, UINT64_MAX, 1).low <= 1);
}

TEST_CASE("the dispersion of binomial counts is about 1, and larger for changing shares") {
  std::mt19937_64 random(7);
  const auto dispersion = [&](auto share_at, uint64_t slices) {
    StallSlices sums;
    for (uint64_t slice = 0; slice < slices; ++slice) {
      std::binomial_distribution<uint64_t> draw(1000, share_at(slice));
      const uint64_t part = draw(random);
      sums.add(kKernel, kReason, 100 + slice, part);
      sums.add(kKernel, kOther, 100 + slice, 1000 - part);
    }
    return sums.dispersion(kKernel, kReason);
  };
  for (const uint64_t slices : {30U, 64U, 65U, 1000U}) {
    INFO(slices << " slices");
    CHECK(dispersion([](uint64_t) { return 0.3; }, slices) < 2);
    CHECK(dispersion([&](uint64_t slice) { return slice < slices / 2 ? 0.2 : 0.4; }, slices) > 30);
  }
  const StallSlices none;
  CHECK(none.dispersion(kKernel, kReason) == 1);
  StallSlices one;
  one.add(kKernel, kReason, 5, 10);
  one.add(kKernel, kOther, 5, 10);
  CHECK(one.dispersion(kKernel, kReason) == 1);
}

TEST_CASE("stall sums accept slices in any order, up to a limit of pairs") {
  StallSlices sums;
  sums.add(kKernel, kReason, 50, 10);
  sums.add(kKernel, kOther, UINT64_MAX, 10);
  sums.add(kKernel, kOther, 0, 10);
  CHECK(sums.dispersion(kKernel, kReason) > 1);
  for (uint32_t i = 0; i < StallSlices::kMostPairs + 10; ++i) {
    sums.add(StringId{i + 1}, kReason, i, 1);
  }
  CHECK(sums.dispersion(StringId{StallSlices::kMostPairs + 5}, kReason) == 1);
}

TEST_CASE("stalls list kernels by their time, each with its hottest lines") {
  const std::string text =
      kStallsBase +
      "EUSTALL;0;1;1;2;0;6;0\nEUSTALL;1;3;1;2;0;1;1\nEUSTALL;0;1;3;3;0;2;0\nEUSTALL;0;1;2;2;0;1;0\n"
      "EUSTALL;0;1;0;0;0;1;0\nEUSTALL;0;2;0;3;0;1;0\n";
  auto reader = open_text(text);
  auto rows = aggregate(*reader, {.stall_slices = true});
  REQUIRE(rows);
  const Summary summary = summarize(*rows, {});
  REQUIRE(summary.stalls.size() == 2);
  CHECK(summary.stalls[0].kernel == "copy");  // this kernel has fewer samples, but more time
  const KernelStalls& saxpy = summary.stalls[1];
  CHECK(saxpy.kernel == "saxpy");
  CHECK(saxpy.samples == 11);
  CHECK(saxpy.estimated == 1);
  CHECK(saxpy.without_lines == 1);
  REQUIRE(saxpy.reasons.size() == 3);
  CHECK(saxpy.reasons[0].reason == "wait");
  CHECK(saxpy.reasons[0].samples == 8);
  CHECK(saxpy.reasons[0].share.low < 8.0 / 11);
  CHECK(saxpy.reasons[0].share.high > 8.0 / 11);
  CHECK(saxpy.reasons[1].reason == "selected");
  CHECK(saxpy.reasons[2].reason == "[unknown]");
  REQUIRE(saxpy.lines.size() == 2);
  CHECK(saxpy.lines[0].function == "clamp");
  CHECK(saxpy.lines[0].file == "a.cu");
  CHECK(saxpy.lines[0].line == 3);
  CHECK(saxpy.lines[0].samples == 7);
  CHECK(saxpy.lines[1].line == 12);
  CHECK(summary.stalls_without_lines == 1);
  const Summary first = summarize(*rows, {.limits = {.others = 1}});
  REQUIRE(first.stalls.size() == 1);
  CHECK(first.found.stalls == 2);
}

TEST_CASE("stalls are not reported if too many samples were dropped") {
  const std::string text = kStallsBase + "EUSTALL;0;1;1;2;0;99;0\n";
  CHECK(summary_of(text + "LOSS;0;samples_dropped;1\n").stalls.size() == 1);
  CHECK(summary_of(text + "LOSS;0;samples_dropped;2\n").stalls.empty());
  CHECK(summary_of(kStallsBase + "EUSTALL;0;1;1;2;0;0;0\n").stalls.empty());  // a profile without samples has no stalls
}

TEST_CASE("each stall reason of NVIDIA's and Intel's samplers has an explanation") {
  std::set<std::string_view> meanings;
  const std::vector<std::string_view> nvidia = {
      "barrier",  "branch_resolving",   "dispatch_stall", "drain", "imc_miss",        "lg_throttle",  "long_scoreboard",
      "membar",   "math_pipe_throttle", "mio_throttle",   "misc",  "no_instructions", "not_selected", "selected",
      "sleeping", "short_scoreboard",   "tex_throttle",   "wait",  "warpgroup_arrive"};
  const std::vector<std::string_view> intel = {"active", "control", "pipestall",  "send",  "dist_acc",
                                               "sbid",   "sync",    "inst_fetch", "other", "tdr"};
  for (const auto& words : {nvidia, intel}) {
    for (const std::string_view word : words) {
      INFO(word);
      const StallReason* const reason = stall_reason(word);
      REQUIRE(reason != nullptr);
      CHECK(reason->word == word);
      CHECK(reason->meaning.ends_with("."));
      CHECK(reason->waits == (word != "selected" && word != "not_selected" && word != "active"));
      meanings.insert(word);
    }
  }
  CHECK(meanings.size() == 29);
  CHECK(stall_reason("wait_not_issued") == stall_reason("wait"));
  CHECK(stall_reason("waits") == nullptr);
  CHECK(stall_reason("_not_issued") == nullptr);
  CHECK(stall_reason("") == nullptr);
}
