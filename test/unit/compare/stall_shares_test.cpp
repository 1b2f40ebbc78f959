#include "compare/stall_shares.h"

#include <cmath>
#include <string>
#include <vector>

#include "catch.h"
#include "compare/comparison.h"
#include "profile/text_input.h"

using namespace gpuprof;
using compare::Comparison;
using compare::KernelLine;
using compare::Run;
using compare::StallShare;

namespace {

// Defines stall reasons 2 and 3 for kernel 1, and a kernel without samples.
const std::string kBase =
    "GPUPROF;3.0\nSTRING;1;saxpy\nSTRING;2;wait\nSTRING;3;selected\nSTRING;4;fill\nSTRING;5;saxpy2\n"
    "WORK;1;0;0;0;0;0;0;0;0;0;kernel;1;0\nWORK;2;0;0;0;0;0;0;0;0;0;kernel;4;0\n"
    "WORK;3;0;0;0;0;0;0;0;0;0;kernel;5;0\nGPU;0;2;1;70;70;70;4900;0;0\n";

struct Counts {
  uint64_t slice = 0;
  uint64_t wait = 0;
  uint64_t selected = 0;
};

Run run_of(const std::vector<Counts>& counts, const std::string& more = "", int work = 1) {
  const std::string id = std::to_string(work);
  std::string text = kBase + "GPU;0;" + id + ";1;50;50;50;2500;0;0\n";
  for (const Counts& one : counts) {
    const std::string begin = "EUSTALL;" + std::to_string(one.slice) + ";" + id + ";0;";
    text += begin + "2;0;" + std::to_string(one.wait) + ";0\n" + begin + "3;0;" + std::to_string(one.selected) + ";0\n";
  }
  auto reader = test::open_text(text + more);
  REQUIRE(reader);
  auto run = compare::read_run(*reader, "p.txt", {}, compare::kMostPathFrames);
  REQUIRE(run);
  return std::move(run).value();
}

const KernelLine& kernel(const Comparison& all, const std::string& name) {
  for (const KernelLine& line : all.kernels) {
    if (line.name == name) {
      return line;
    }
  }
  FAIL("no kernel " + name);
  return all.kernels.front();
}

bool equals_nearly(double value, double expected) {
  return std::abs(value - expected) < 1e-9;
}

}  // namespace

TEST_CASE("a share has changed if its intervals do not overlap and it differs by more than 1%") {
  const std::vector<Run> before = {run_of({{0, 100, 900}})};
  const auto changed = [&](const Counts& counts) {
    const std::vector<Run> after = {run_of({counts})};
    const auto shares = compare::stall_shares(kernel(compare::compare(before, after), "saxpy"));
    REQUIRE(shares.size() == 2);
    CHECK(shares[0].changed == shares[1].changed);  // the two shares add up to 1
    return shares[0].changed;
  };
  CHECK_FALSE(changed({0, 100, 900}));
  CHECK_FALSE(changed({0, 120, 880}));
  CHECK(changed({0, 200, 800}));
  CHECK(changed({0, 0, 1000}));
  CHECK_FALSE(changed({0, 0, 10}));
  // With ten million samples a change of 0.9 percentage points is significant, but too small to matter.
  const std::vector<Run> many = {run_of({{0, 1'000'000, 9'000'000}})};
  const std::vector<Run> few_more = {run_of({{0, 1'090'000, 8'910'000}})};
  const auto shares = compare::stall_shares(kernel(compare::compare(many, few_more), "saxpy"));
  const StallShare& wait = shares[0];
  CHECK(wait.before.interval.high < wait.after.interval.low);
  CHECK_FALSE(wait.changed);
}

TEST_CASE("shares are over all runs of a side, with the dispersion of slices and runs") {
  const std::vector<Run> before = {run_of({{0, 100, 900}, {1, 300, 700}}), run_of({{0, 500, 500}})};
  const std::vector<Run> after = {run_of({{0, 500, 500}})};
  const Comparison all = compare::compare(before, after);
  const auto shares = compare::stall_shares(kernel(all, "saxpy"));
  REQUIRE(shares.size() == 2);
  const StallShare& wait = shares[0];
  CHECK(all.stall_reasons.at(wait.reason) == "wait");
  CHECK(wait.before.samples == 900);
  CHECK(equals_nearly(wait.before.share, 0.3));
  CHECK(equals_nearly(wait.after.share, 0.5));
  // The runs have 1000 samples each and a mean share of 0.3; three runs have 2 degrees of freedom.
  const double dispersion = 2 * 200.0 * 200 / (1000 * 0.3 * 0.7) / 2;
  const analyze::Interval expected = analyze::share_interval(900, 3000, dispersion);
  CHECK(equals_nearly(wait.before.interval.low, expected.low));
  CHECK(equals_nearly(wait.before.interval.high, expected.high));
  CHECK_FALSE(wait.changed);
  CHECK(wait.before.interval.high > wait.after.interval.low);
}

TEST_CASE("a kernel has no shares if a side has no samples or dropped too many") {
  const std::vector<Run> sampled = {run_of({{0, 100, 900}})};
  const auto shares = [&](const std::vector<Run>& after, const std::string& name = "saxpy") {
    return compare::stall_shares(kernel(compare::compare(sampled, after), name)).size();
  };
  CHECK(shares(sampled) == 2);
  CHECK(shares(sampled, "fill") == 0);
  CHECK(shares({run_of({})}) == 0);
  CHECK(shares({run_of({{0, 500, 490}}, "LOSS;0;samples_dropped;10\n")}) == 2);
  CHECK(shares({run_of({{0, 500, 490}}, "LOSS;0;samples_dropped;11\n")}) == 0);
}

TEST_CASE("a renamed kernel keeps its samples") {
  const std::vector<Run> before = {run_of({{0, 100, 900}})};
  const std::vector<Run> after = {run_of({{0, 800, 200}}, "", 3)};
  const Comparison all = compare::compare(before, after);
  const KernelLine& line = kernel(all, "saxpy2");
  CHECK(line.old_name == "saxpy");
  const auto shares = compare::stall_shares(line);
  REQUIRE(shares.size() == 2);
  CHECK(shares[0].changed);
  CHECK(all.stall_reasons.at(shares[0].reason) == "wait");  // "wait" grew by as much as the other reason shrank
  CHECK(equals_nearly(shares[0].before.share + shares[1].before.share, 1));
}

TEST_CASE("a reason that only one side has counts as zero on the other") {
  Comparison all;
  all.stall_reasons = {"wait", "barrier"};
  KernelLine line;
  line.stalls[0].samples = line.stalls[1].samples = 1000;
  line.stalls[0].reasons[0].samples = 1000;
  line.stalls[1].reasons[0].samples = 700;
  line.stalls[1].reasons[1].samples = 300;
  const auto shares = compare::stall_shares(line);
  REQUIRE(shares.size() == 2);
  CHECK(shares[0].reason == 1);
  CHECK(shares[0].before.share == 0);
  CHECK(shares[0].before.interval.low == 0);
  CHECK(shares[0].changed);
}
